import { gunzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { applySecondNight, type SecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunPlan } from '../../src/pipeline/plan/plan-run.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { patience } from '../helpers/patience.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { type Ended, nightferry, start, workingFolder } from './nightferry-process.ts'

const hotels = 3
const seed = 7

const world = await ofThisFile(startWorld({ migrated: true, hotels, seed }))

type Difference = {
  stream: string
  partner_id: string
  why: string
  new: boolean
  differences: { field: string; to: string }[]
}
type Plan = Omit<RunPlan, 'rows'> & { differences?: Difference[] }

async function call(...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  return await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())
}

async function plan(...args: string[]): Promise<Plan> {
  const { code, stdout, stderr } = await call('plan', '--json', ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as Plan
}

async function night(): Promise<RunReport> {
  return JSON.parse((await call('run', 'nightly-sync', '--json')).stdout) as RunReport
}

/** Rows by stream that a plan would send. */
function planned({ waves }: Plan): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { stream, rows } of waves.flatMap((wave) => wave.requests.flatMap(({ streams }) => streams))) {
    sums[stream] = (sums[stream] ?? 0) + rows
  }
  return sums
}

/** Rows by stream that a run has sent. */
function sent({ streams }: RunReport): Record<string, number> {
  return Object.fromEntries(streams.filter((s) => s.sent > 0).map((s) => [s.stream, s.sent]))
}

function counts({ unsent }: Plan, state: string): number {
  return unsent.filter((count) => count.state === state).reduce((sum, { rows }) => sum + rows, 0)
}

/**
 * A digest of every row of every table of ours, the queue's among them, and of where the sequences stand. But for the
 * pace of calls: those of a plan count like any other.
 */
async function everything(): Promise<Record<string, string>> {
  const { rows: tables } = await world.pool.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
     where relnamespace in (select oid from pg_namespace where nspname like 'nightferry%') and relkind = 'r' and relname <> 'service_key'
     union all select 'pg_sequences'`,
  )
  const digests: Record<string, string> = {}
  for (const { name } of tables) {
    const { rows } = await world.pool.query<{ digest: string }>(
      `select md5(coalesce(string_agg(md5(t::text), '' order by t::text), '')) as digest from ${name} t`,
    )
    digests[name] = rows[0]?.digest ?? ''
  }
  return digests
}

test('the plan before the first night says what that night sends, and leaves nothing behind', async () => {
  await call('migrate')
  const before = await everything()
  const foreseen = await plan('--bodies')
  expect(await everything()).toEqual(before)
  expect(Object.keys(before).length).toBeGreaterThan(15)
  const { rows } = await world.sandboxPool.query('select from sandbox.task')
  expect(rows, 'the service has no task').toEqual([])

  expect(foreseen).toMatchObject({ running: null, reference: { source: 'fetched' }, unsent: [], invalid: [] })
  expect(foreseen.waves[0]?.requests).toMatchObject([
    { kind: 'company_mappings', streams: [{ stream: 'properties', why: 'new', rows: 3 }] },
  ])
  const report = await night()
  expect(planned(foreseen)).toEqual(sent(report))
  expect(foreseen.streams.map(({ stream, read }) => [stream, read])).toEqual(
    report.streams.map(({ stream, read }) => [stream, read]),
  )
  const kinds = (requests: readonly { kind: string }[]) => [...new Set(requests.map(({ kind }) => kind))].sort()
  const ofRows = report.submissions.filter(({ rows: carried }) => carried > 0)
  expect(kinds(foreseen.waves.flatMap(({ requests }) => requests))).toEqual(kinds(ofRows))
  const { rows: bodies } = await world.pool.query<{ kind: string }>(
    `select distinct kind from nightferry.submission where row_count > 0 order by kind`,
  )
  expect(foreseen.bodies.map(({ kind }) => kind).sort()).toEqual(bodies.map(({ kind }) => kind))
})

test('a body is what the run then sends, byte for byte', async () => {
  await world.partnerPool.query(`update hotelier.hotel set street = 'Neue Straße 1' where code = 'H-0002'`)
  const { bodies } = await plan('--bodies')
  await night()
  const { rows } = await world.pool.query<{ piece: Buffer }>(
    `select piece from nightferry.submission_payload where ordinal = 1 and submission_id = (
       select max(submission_id) from nightferry.submission where kind = 'company_mappings')`,
  )
  expect(bodies.map(({ body }) => body)).toEqual([gunzipSync(rows[0]?.piece ?? Buffer.alloc(0)).toString()])
})

let day: SecondNight

test('the plan after a day of changes says what differs, what is invalid and why, and what the next night sends', async () => {
  day = await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
  const before = await everything()
  const foreseen = await plan('--diff', '--cached', '--limit', '1000')
  expect(await everything()).toEqual(before)
  expect(foreseen.reference).toMatchObject({ source: 'cached', why_not_fetched: null })
  expect(foreseen.invalid).toMatchObject([
    { partner_id: day.invalidHere[0], reason: expect.stringContaining('is no number') },
  ])
  expect(counts(foreseen, 'invalid')).toBe(1)

  const renamed = foreseen.differences?.find(
    ({ stream, partner_id }) => stream === 'properties' && partner_id === day.renamed[0],
  )
  const { rows } = await world.partnerPool.query<{ name: string }>('select name from hotelier.hotel where code = $1', [
    day.renamed[0],
  ])
  expect(renamed).toMatchObject({ new: false })
  expect(renamed?.differences).toContainEqual(expect.objectContaining({ field: 'name', to: rows[0]?.name }))
  const added = foreseen.differences?.find(({ partner_id }) => partner_id === day.added[0])
  expect(added).toMatchObject({ why: 'new', new: true, differences: [] })

  const report = await night()
  expect(planned(foreseen)).toEqual(sent(report))
})

test('the plan says so if there is nothing to send, and names what stays rejected', async () => {
  const foreseen = await plan()
  expect(foreseen.waves).toEqual([])
  expect(foreseen.rejected).toMatchObject([{ partner_id: day.rejectedByService[0] }])
  expect((await call('plan')).stdout).toMatch(/^Nothing would be sent\.$/m)
})

test('a row that a person wants sent again is retried as it was accepted, and is not said to be new or changed', async () => {
  await call('resend', '--partner-id', 'H-0002', '--stream', 'properties')
  expect((await plan('--cached', '--diff')).differences).toMatchObject([
    { stream: 'properties', partner_id: 'H-0002', why: 'retried', new: false, differences: [] },
  ])
  const { stdout } = await call('plan', '--cached', '--diff')
  expect(stdout).toMatch(/^ {2}H-0002 {2}properties {2}retried: as it was accepted$/m)
  await world.pool.query('update acceptance set retry_action = null')
})

test('a plan that asks nobody goes on with a key that is new to the ledger, says so, and stops at another identifier', async () => {
  expect((await plan('--cached')).remarks).toEqual([])
  await world.pool.query(`update destination_key set fingerprint = 'x' || fingerprint`)
  const { remarks } = await plan('--cached')
  expect(remarks).toEqual([expect.stringMatching(/^The API key is new to this ledger/)])
  expect((await call('plan', '--cached')).stdout).toContain('The API key is new to this ledger')
  const other = await call(
    'plan',
    '--cached',
    '--set',
    'exchange.customIdentifierId=11111111-2222-4333-8444-555555555555',
  )
  expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('destination_changed') })
  await world.pool.query('update destination_key set fingerprint = substr(fingerprint, 2)')
})

test('a rejected row that a policy sends again is told from one whose request was refused as a whole', async () => {
  const retries = JSON.stringify([{ code: 'value_out_of_range', afterMs: 0, times: 1 }])
  const { waves } = await plan('--cached', '--set', `push.retries=${retries}`)
  expect(waves.flatMap(({ requests }) => requests.flatMap(({ streams }) => streams))).toEqual([
    { stream: 'framework_answers', why: 'sent again by policy', rows: 1 },
  ])
})

test('the plan beside a run leaves out the rows that this run has in flight, and disturbs nothing', async () => {
  await using folder = await workingFolder()
  await using slow = await startWorld({
    migrated: true,
    hotels,
    seed,
    durations: { processing: { companyMappings: { baseMs: 600_000 } } },
  })
  const running = start(folder.path, ['run', 'nightly-sync', '--config', demoConfig], slow.environment())
  try {
    const state = async () =>
      (await slow.pool.query<{ state: string }>('select state from nightferry.submission').catch(() => ({ rows: [] })))
        .rows
    await vi.waitFor(async () => expect(await state()).toEqual([{ state: 'accepted' }]), patience)
    const { code, stdout } = await nightferry(
      folder.path,
      ['plan', '--json', '--config', demoConfig],
      slow.environment(),
    )
    expect(code).toBe(0)
    const foreseen = JSON.parse(stdout) as Plan
    expect(foreseen).toMatchObject({ running: { run_id: 1, step: 'push' }, waves: [] })
    expect(counts(foreseen, 'in_flight')).toBe(3)
    expect(foreseen.parked[0]?.reason).toMatch(/is in submission 1; it is released when that is accepted/)
    expect(await state()).toEqual([{ state: 'accepted' }])
  } finally {
    running.child.kill('SIGKILL')
    await running.ended
  }
})
