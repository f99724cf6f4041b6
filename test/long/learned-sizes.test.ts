import { expect, it } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { serviceProxy } from '../helpers/service-proxy.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

type Size = { kind: string; rows: number; verdict: string; rows_before: number }

async function night(world: World, settings: readonly string[], url = world.sandboxUrl): Promise<RunReport> {
  await using folder = await workingFolder()
  const overrides = settings.flatMap((setting) => ['--set', setting])
  const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--json', '--config', demoConfig, ...overrides], {
    ...world.environment(),
    EXCHANGE_BASE_URL: url,
  })
  expect(ended.stderr).not.toContain('nightferry:')
  return JSON.parse(ended.stdout) as RunReport
}

async function sizes(world: World): Promise<Map<string, Size>> {
  const { rows } = await world.pool.query<Size>('select kind, rows, verdict, rows_before from nightferry.batch_size')
  return new Map(rows.map((row) => [row.kind, row]))
}

const answersOf = ({ submissions }: RunReport) => submissions.filter(({ kind }) => kind === 'framework_answers')
const largest = (list: readonly { rows: number }[]) => Math.max(...list.map(({ rows }) => rows))

/** A gateway in front of the service, which refuses bulk requests with a body of more than `limit.bytes` with 413. */
async function openGateway(service: string, limit: { bytes: number; refused: number }) {
  return await serviceProxy(service, async ({ path, body }, forward) => {
    if (!path.includes('/bulk/') || body.length <= limit.bytes) return await forward()
    limit.refused += 1
    return new Response('<h1>413 Request Entity Too Large</h1>', {
      status: 413,
      headers: { 'content-type': 'text/html' },
    })
  })
}

/** Every row of every stream was accepted in the end. */
function expectAllAccepted({ streams, verdict, remarks }: RunReport) {
  expect({ verdict, remarks }).toEqual({ verdict: 'succeeded', remarks: [] })
  for (const { pending, sent, confirmed, inferred } of some(streams)) {
    expect([sent, confirmed + inferred]).toEqual([pending, pending])
  }
}

it('come down to what a gateway in front of the service lets through, in one night, and go up again without it', async () => {
  await using world = await startWorld({ hotels: 20, seed: 7 })
  const limit = { bytes: 12_000, refused: 0 }
  await using gateway = await openGateway(world.sandboxUrl, limit)
  const settings = ['push.firstRows=400', 'guard.maxChangedShare=1']
  const first = await night(world, settings, gateway.url)
  expect(limit.refused).toBeGreaterThan(2)
  expectAllAccepted(first)
  const refused = answersOf(first).filter(({ state }) => state === 'refused')
  const settled = answersOf(first).filter(({ state }) => state === 'settled')
  expect(refused.length).toBeGreaterThan(0)
  expect(largest(settled)).toBeLessThan(largest(refused))
  const learned = (await sizes(world)).get('framework_answers')?.rows ?? 0
  expect(learned).toBeLessThan(400)

  await world.partnerPool.query(
    `update hotelier.sustainability_answer set value = (value::numeric + 1)::text, updated_at = now()
     where value ~ '^[0-9]+$'`,
  )
  limit.bytes = Number.POSITIVE_INFINITY
  const second = await night(world, settings, gateway.url)
  expectAllAccepted(second)
  expect((await sizes(world)).get('framework_answers')).toMatchObject({ verdict: 'succeeded' })
  expect((await sizes(world)).get('framework_answers')?.rows).toBeGreaterThan(learned)
})

it('come down where large requests take much longer than the target', async () => {
  await using world = await startWorld({
    hotels: 20,
    seed: 7,
    durations: { processing: { frameworkAnswersUpsert: { baseMs: 20, perItemUs: 20_000 } } },
  })
  const report = await night(world, ['push.firstRows=200', 'push.targetTaskMs=400', 'push.inFlightPerKind=1'])
  expectAllAccepted(report)
  expect((await sizes(world)).get('framework_answers')?.rows).toBeLessThan(200)
  expect((await sizes(world)).get('company_mappings')?.rows).toBeGreaterThanOrEqual(200)
})

it('a row that is too large alone is kept out, and does not have all others sent one by one', async () => {
  await using world = await startWorld({ hotels: 200, seed: 7 })
  await using gateway = await openGateway(world.sandboxUrl, { bytes: 30_000, refused: 0 })
  await world.partnerPool.query(`update hotelier.hotel set street = repeat('x', 40000) where hotel_id = 7`)
  const report = await night(world, ['push.firstRows=100'], gateway.url)
  const mappings = report.submissions.filter(({ kind }) => kind === 'company_mappings')
  const { rows } = await world.pool.query(
    `select partner_id, outcome, outcome_code, refused_hash = desired_hash as kept_out from nightferry.ledger
     where stream = 'properties' and pending and outcome_code = 'request_too_large'`,
  )
  expect(rows).toEqual([
    { partner_id: expect.any(String), outcome: 'rejected', outcome_code: 'request_too_large', kept_out: true },
  ])
  // Without the blame on that one row the 199 others go out in requests of one.
  expect(mappings.length).toBeLessThan(40)
  const left = await world.pool.query(
    `select count(*)::integer as rows from nightferry.ledger where stream = 'properties' and outcome is null`,
  )
  expect(left.rows).toEqual([{ rows: 0 }])
})
