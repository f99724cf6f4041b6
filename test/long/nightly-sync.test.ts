import { expect, test } from 'vitest'
import { addedHotelNumber, applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const seed = 7

async function night(world: World, folder: string, settings: readonly string[] = []): Promise<RunReport> {
  const overrides = settings.flatMap((setting) => ['--set', setting])
  const ended = await nightferry(
    folder,
    ['run', 'nightly-sync', '--json', '--config', demoConfig, ...overrides],
    world.environment(),
  )
  expect(ended.stderr).not.toContain('nightferry:')
  return JSON.parse(ended.stdout) as RunReport
}

const sum = (report: RunReport, count: (stream: RunReport['streams'][number]) => number) =>
  report.streams.reduce((total, stream) => total + count(stream), 0)

/** Rows written to since the database began, per table that people query or the ledger lives in. */
async function writes(world: World): Promise<unknown> {
  const { rows } = await world.pool.query(
    `select relname, n_tup_upd::int as updated, n_tup_del::int as deleted from pg_stat_user_tables
     where relname in ('company', 'company_property', 'calculator', 'calculator_value', 'calculator_variable', 'source_row', 'acceptance',
                       'mapping')
     order by relname`,
  )
  return rows
}

test('never sends an upsert of a hotel before its mapping is terminal, nor one hotel in two unfinished requests of a kind', async () => {
  await using world = await startWorld({ hotels: 60, seed, pageSize: 10 })
  await using folder = await workingFolder()
  await night(world, folder.path, [
    'push.maxCompaniesPerMapping=9',
    'push.maxAnswersPerUpsert=60',
    'push.maxCalculatorsPerUpsert=80',
  ])
  expect(await upsertsReceived(world.sandboxPool)).toBeGreaterThan(20)
  expect(await sentTooEarly(world.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
})

test('a night sends upserts of mapped hotels while the mapping of others is still running', async () => {
  await using world = await startWorld({
    hotels: 40,
    seed,
    durations: { processing: { companyMappings: { baseMs: 20, perItemUs: 250_000 } } },
  })
  await using folder = await workingFolder()
  // Of 40 hotels in requests of 35 and 5, the small one is matched many seconds before the other.
  await night(world, folder.path, ['push.maxCompaniesPerMapping=35'])
  const { rows } = await world.sandboxPool.query<{ early: boolean }>(
    `select min(id) filter (where phase = 'received' and path like '%/upsert')
          < max(id) filter (where phase = 'terminal' and path like '%/company-mappings') as early
     from sandbox.request_log`,
  )
  expect(rows).toEqual([{ early: true }])
})

test('a second night without a change sends nothing and updates no row', async () => {
  // Hotel 50 is the first that the service does not know; below it every hotel is matched.
  await using world = await startWorld({ hotels: 20, seed })
  await using folder = await workingFolder()
  const first = await night(world, folder.path)
  expect(first).toMatchObject({ verdict: 'succeeded', remarks: [] })
  expect(sum(first, ({ sent }) => sent)).toBeGreaterThan(300)
  const before = { tables: await finalTables(world.pool), writes: await writes(world) }

  const second = await night(world, folder.path)
  expect(second).toMatchObject({ verdict: 'succeeded', remarks: [] })
  expect(second.submissions.map(({ kind }) => kind)).toEqual(['calculators_search'])
  expect(sum(second, ({ pending }) => pending)).toBe(0)
  expect({ tables: await finalTables(world.pool), writes: await writes(world) }).toEqual(before)
})

test('the second night carries what changed and nothing else, and says what was not accepted and by whom', async () => {
  const hotels = 30
  await using world = await startWorld({ hotels, seed })
  await using folder = await workingFolder()
  await night(world, folder.path)
  const day = await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
  const report = await night(world, folder.path)

  expect(report.verdict).toBe('partial')
  expect(report.streams.find(({ stream }) => stream === 'properties')).toMatchObject({
    sent: day.renamed.length + day.moved.length + day.added.length,
    confirmed: day.renamed.length + day.moved.length + day.added.length,
  })
  const refused = new Map(report.refused.map(({ partner_id, state }) => [partner_id, state]))
  expect(refused).toEqual(
    new Map([
      ...day.rejectedByService.map((partnerId) => [partnerId, 'rejected'] as const),
      ...day.invalidHere.map((partnerId) => [partnerId, 'invalid'] as const),
    ]),
  )
  const { rows } = await world.pool.query(
    'select partner_id from companies where partner_id = $1 and removed_at is null',
    [`H-${String(addedHotelNumber(hotels)).padStart(4, '0')}`],
  )
  expect(rows).toHaveLength(1)
})

test('the check of the order finds an upsert that came too early', async () => {
  await using world = await startWorld({ hotels: 1, seed })
  await world.sandboxPool.query(
    `insert into sandbox.request_log (at, profile_id, method, path, correlation_id, phase, identifiers)
     values (now(), 4711, 'POST', '/api/v1/bulk/calculators/upsert', gen_random_uuid(), 'received', '{H-0001}'),
            (now(), 4711, 'POST', '/api/v1/bulk/company-mappings', gen_random_uuid(), 'terminal', '{H-0001}')`,
  )
  expect(await sentTooEarly(world.sandboxPool)).toMatchObject([{ identifier: 'H-0001' }])
})
