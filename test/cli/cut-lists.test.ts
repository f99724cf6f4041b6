import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from '../http/in-process.ts'
import { nightferry, workingFolder } from './nightferry-process.ts'

let world: World
let api: ReadingApi
let folder: Awaited<ReturnType<typeof workingFolder>>

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 3, seed: 7 })
  folder = await workingFolder()
  api = readingApi(world)
  expect(await call('run', 'nightly-sync')).toMatchObject({ code: 0 })
  expect((await call('drift')).stdout).toContain('Nothing is known to be at the service and gone here.')
  // Of each list three: inputs and properties that differ, and settings that are gone.
  await world.pool.query(`
    insert into input_difference
      (kind, company_id, period_year, period_month, variable_id, row_id, sent, stored, found_by_run, found_at)
    select 'different', company_id, 2025, n, 'v', row_id, '1', '2', 1, now()
    from (select row_id, company_id, row_number() over (order by row_id) as n
          from source_row join mapping using (partner_id) where stream = 'calculator_inputs') row where n <= 3`)
  await world.pool.query(`
    insert into row_difference (row_id, comparison, kind, company_id, sent, stored, found_by_run)
    select row_id, 'properties', 'different', company_id, '1', '2', 1
    from source_row join mapping using (partner_id) where stream = 'properties'`)
  await world.pool.query(`update source_row set gone_at = now() where stream = 'calculator_settings'`)
  await world.pool.query(`
    delete from notification;
    insert into notification (job, event, cause, message) select 'nightly-sync', 'failed', 'c', '{}' from generate_series(1, 3);
    insert into webhook_event (event_id, payload, state, effect, application_id, status)
      select n, '{}', 'done', 'kept', 'A-' || greatest(n - 2, 1), 'Draft' from generate_series(1, 5) n`)
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
  await folder?.[Symbol.asyncDispose]()
})

const call = async (...args: string[]) =>
  await nightferry(folder.path, [...args, '--config', demoConfig], world.environment())

/** Has so many rows be invalid, each for a reason of its own. */
const invalid = async (rows: number) =>
  await world.pool.query(
    `update acceptance set accepted_hash = null, invalid_reason = 'reason ' || row_id
     where row_id in (select row_id from source_row where stream = 'framework_answers' order by row_id limit $1)`,
    [rows],
  )

const lines = (text: string) => text.split('\n').filter((line) => line.includes('--limit shows more'))

test('drift says that its list was cut, and says nothing where all are shown', async () => {
  const cut = await call('drift', '--limit', '2')
  expect(cut.stdout.match(/^H-000\d/gm)).toHaveLength(2)
  expect(lines(cut.stdout)).toEqual(['The newest 2; --limit shows more.'])
  expect(lines((await call('drift', '--limit', '3')).stdout)).toEqual([])
})

test('an empty drift says which streams see what is gone, and when', async () => {
  const { stdout } = await call('drift', '--stream', 'omissions')
  expect(stdout).toContain('A stream with capture: snapshot sees it in every run')
  expect(stdout).toContain('every fullEvery')
})

test('differences says of each of its lists that it was cut', async () => {
  const cut = await call('differences', '--limit', '2')
  expect(lines(cut.stdout)).toEqual([
    'The newest 2 inputs; --limit shows more.',
    'The newest 2 rows; --limit shows more.',
  ])
  await world.pool.query(`delete from input_difference where period_month = 3`)
  expect(lines((await call('differences', '--limit', '2')).stdout)).toEqual(['The newest 2 rows; --limit shows more.'])
  expect(lines((await call('differences', '--limit', '3')).stdout)).toEqual([])
})

test.each([
  ['notify', []],
  ['applications', []],
  ['applications', ['A-1']],
])('%s %j says that its list was cut, and says nothing where all are shown', async (verb, which) => {
  expect(lines((await call(verb, ...which, '--limit', '2')).stdout)).toEqual(['The newest 2; --limit shows more.'])
  expect(lines((await call(verb, ...which, '--limit', '3')).stdout)).toEqual([])
})

describe('a list that was cut', () => {
  test.each([
    ['drift', '--json'],
    ['differences', '--json'],
    ['differences', '--csv'],
    ['notify', '--json'],
    ['applications', '--json'],
  ])('a list that was cut is told of on standard error beside %s %s', async (verb, form) => {
    const cut = await call(verb, form, '--limit', '2')
    expect(lines(cut.stdout)).toEqual([])
    expect(lines(cut.stderr).length).toBeGreaterThan(0)
    expect((await call(verb, form, '--limit', '3')).stderr).toBe('')
  })

  test.each(['/v1/drift', '/v1/differences', '/v1/notifications'])(
    'a list that was cut is told of by %s',
    async (path) => {
      expect(JSON.parse(await api.text(`${path}?limit=2`))).toMatchObject({ more: true })
      expect(JSON.parse(await api.text(`${path}?limit=3`))).toMatchObject({ more: false })
    },
  )

  test('a list that was cut is told of beside the variables, and beside each list of a run under way', async () => {
    const variables = async (limit: number) =>
      JSON.parse(await api.text(`/v1/variables?limit=${limit}`)) as { variables: unknown[]; more: boolean }
    // The periods may still be computed.
    await expect.poll(() => variables(1)).toMatchObject({ variables: [{}], more: true })
    expect((await variables(1_000)).more).toBe(false)
    const live = async (limit: number) =>
      JSON.parse(await api.text(`/v1/runs/1/live?limit=${limit}`)) as Record<'streams' | 'submissions', unknown[]>
    expect(await live(1)).toMatchObject({
      streams: [{}],
      submissions: [{}],
      more: { streams: true, submissions: true },
    })
    const whole = await live(1_000)
    expect(whole).toMatchObject({ more: { streams: false, submissions: false } })
    expect(await live(whole.streams.length)).toMatchObject({ more: { streams: false } })
  })

  test('a list that was cut is told of beside the causes of a state of which there are more than five', async () => {
    const tonight = async () => JSON.parse(await api.text('/v1/tonight')) as { causes: unknown[]; more_causes: boolean }
    await invalid(5)
    const five = await tonight()
    expect([five.causes.length, five.more_causes]).toEqual([5, false])
    await invalid(6)
    // The rows are counted at once when another run has ended.
    await world.pool.query(`
      insert into run (job, trigger, scheduled_for, state, step, verdict)
      values ('nightly-sync', 'cli', now(), 'finished', 'report', 'partial')`)
    const six = await tonight()
    expect([six.causes.length, six.more_causes]).toEqual([5, true])
  })
})

describe('the lists of a plan', () => {
  type Lists = { invalid: object[]; differences: object[] }
  const plan = async (...args: string[]) => await call('plan', '--cached', '--diff', ...args)
  let invalidRows: number
  let differences: number

  beforeAll(async () => {
    await world.partnerPool.query(`
      update hotelier.hotel set street = 'Neue Straße 1', updated_at = now();
      update hotelier.sustainability_answer set value = 'many', updated_at = now() where value ~ '^[0-9]+$'`)
    const whole = JSON.parse((await plan('--json', '--limit', '100000')).stdout) as Lists
    invalidRows = whole.invalid.length
    differences = whole.differences.length
    expect(Math.min(invalidRows, differences)).toBeGreaterThan(1)
  })

  test('the lists of a plan say that they were cut, and say nothing where all are shown', async () => {
    const cut = async (limit: number) => lines((await plan('--limit', String(limit))).stdout)
    expect(await cut(Math.max(invalidRows, differences))).toEqual([])
    expect(await cut(1)).toEqual(['  … the first 1; --limit shows more', '  … the newest 1; --limit shows more'])
  })

  test('the lists of a plan that were cut are told of on standard error beside --json, and named in it', async () => {
    const cut = await plan('--json', '--limit', '1')
    expect(JSON.parse(cut.stdout)).toMatchObject({
      invalid: [{}],
      differences: [{}],
      more: { invalid: true, parked: false, rejected: false, differences: true },
    })
    expect(cut.stderr).toBe('The first 1 of differences, invalid; --limit shows more.\n')
    const largest = await plan('--json', '--limit', String(Math.max(invalidRows, differences)))
    expect(largest.stderr).toBe('')
    expect(JSON.parse(largest.stdout)).toMatchObject({ more: { invalid: false, differences: false } })
    const without = JSON.parse((await call('plan', '--cached', '--json', '--limit', '1')).stdout) as { more: object }
    expect(without.more).toEqual({ invalid: true, parked: false, rejected: false })
  })
})
