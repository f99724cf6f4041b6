import { afterAll, beforeAll, expect, test } from 'vitest'
import { applySecondNight, type SecondNight } from '../../src/demo/partner/second-night.ts'
import type { ListedChange } from '../../src/pipeline/pull/merge/value-history.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { brandProperty, otherIdentifierProperty } from '../../src/sandbox/catalogue/accounts.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'
import { type Ended, nightferry, workingFolder } from './nightferry-process.ts'

const hotels = 4
const seed = 7
/** One custom property of our own, and one of another profile. */
const requested = [brandProperty.id, otherIdentifierProperty.id]

let world: World
let report: RunReport
let secondNight: SecondNight

async function callAskingFor(properties: string[], ...args: string[]): Promise<Ended> {
  await using folder = await workingFolder()
  const settings = ['pull.history=true', `pull.customPropertyIds=${JSON.stringify(properties)}`]
  return await nightferry(
    folder.path,
    [...args, '--config', demoConfig, ...settings.flatMap((setting) => ['--set', setting])],
    world.environment(),
  )
}

const call = async (...args: string[]) => await callAskingFor(requested, ...args)

const listed = async (...args: string[]) =>
  JSON.parse((await call('changes', '--json', ...args)).stdout) as (Omit<ListedChange, 'changed_at'> & {
    changed_at: string
  })[]

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels, seed })
  await call('run', 'nightly-sync', '--json')
  secondNight = await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
  const { stdout, stderr } = await call('run', 'nightly-sync', '--json')
  expect(stdout, stderr).not.toBe('')
  report = JSON.parse(stdout) as RunReport
})

afterAll(() => world[Symbol.asyncDispose]())

test('the first night records no change, and knows of every value when it was first seen', async () => {
  expect(await listed('--run', '1')).toEqual([])
  const { rows } = await world.pool.query(
    `select count(*)::integer as values, count(first_seen_at)::integer as known from calculator_value_history
     where ended_at is null`,
  )
  expect(rows[0]).toEqual({ values: rows[0]?.known, known: expect.any(Number) })
  const { rows: now } = await world.pool.query('select count(*)::integer as values from calculator_values')
  expect(rows[0]?.values).toBe(now[0]?.values)
})

test.each(['--json', '--csv'])('changes %s says on standard error that the list was cut', async (form) => {
  expect((await call('changes', form, '--limit', '1')).stderr).toBe('The newest 1; --limit shows more.\n')
  expect((await call('changes', form, '--limit', '100000')).stderr).toBe('')
})

test('the second night records what the report counts, but for what is new as a whole', async () => {
  const rows = await listed('--limit', '100000')
  const [search] = report.searches
  const count = (kind: string) => rows.filter((row) => row.kind === kind).length
  expect(count('changed')).toBe(search?.changed)
  expect(count('changed')).toBeGreaterThan(2)
  expect(count('removed')).toBe(search?.removed)
  const { rows: fresh } = await world.pool.query(
    `select count(*)::integer as values from calculator_values join calculators using (calculator_id)
     where first_seen_at >= (select started_at from run where run_id = 2)`,
  )
  expect(fresh[0]?.values).toBeGreaterThan(0)
  expect(count('added') + Number(fresh[0]?.values)).toBe(search?.added)
})

test('a change names the hotel, the value before and the value that stands now', async () => {
  const [corrected] = secondNight.readingsCorrected
  const rows = await listed('--partner-id', corrected ?? '')
  expect(rows.length).toBeGreaterThan(0)
  expect(new Set(rows.map(({ partner_id }) => partner_id))).toEqual(new Set([corrected]))
  for (const row of some(rows.filter(({ kind }) => kind === 'changed'))) {
    const { rows: standing } = await world.pool.query(
      'select value from calculator_values where calculator_id = $1 and variable_id = $2 and direction = $3',
      [row.calculator_id, row.variable_id, row.direction],
    )
    expect(standing).toEqual([{ value: row.after }])
    expect(row.before).not.toBe(row.after)
  }
  expect(await listed('--since', '2100-01-01')).toEqual([])
  expect(await listed('--limit', '1')).toHaveLength(1)
})

test('changes says in words how much changed, writes CSV, and says when nothing is recorded', async () => {
  const { stdout } = await call('changes')
  expect(stdout).toMatch(/\d values? added, \d+ changed, \d+ removed in run 2, of \d compan(y|ies)\./)
  expect(stdout).toMatch(/hotel +period +direction +variable +what +before +after/)
  const [head, ...lines] = (await call('changes', '--csv', '--limit', '3')).stdout.trim().split('\r\n')
  expect(head).toMatch(/^change_id,run_id,changed_at,partner_id,/)
  expect(lines).toHaveLength(3)
  expect((await call('changes', '--run', '1')).stdout).toMatch(/^No change of a value is recorded in run 1\.\n/)
})

test.each([
  [['--csv', '--json'], /choose one/],
  [['--run', '99'], /There is no run 99/],
])('changes %j is a usage error', async (args, words) => {
  const { code, stdout, stderr } = await call('changes', ...args)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(words)
})

test('a custom property of another profile is told of in the report and by status', async () => {
  const words = `"${otherIdentifierProperty.name}" (${otherIdentifierProperty.id}) belongs to Harbour & Hill Collection`
  expect(report.searches).toMatchObject([
    { left_out_properties: [{ property_id: otherIdentifierProperty.id, why: 'not_owned' }] },
  ])
  expect(report.notices).toContainEqual(expect.stringContaining(words))
  expect((await call('status')).stdout).toContain(
    `The service left out 1 custom property that the search of run 2 asked for: ${words}.`,
  )
  expect(JSON.parse((await call('status', '--json')).stdout)).toMatchObject({
    custom_properties: { left_out: [{ property_id: otherIdentifierProperty.id }], left_out_in_run: 2, doubtful: [] },
  })
})

test('the report of a night in which every custom property came says nothing of them', async () => {
  expect(report.notices.join('\n')).not.toContain(brandProperty.id)
})

test('status tells beforehand of a custom property that the next search asks for and cannot get', async () => {
  const unknown = '00000000-0000-4000-8000-000000000001'
  const { stdout } = await callAskingFor([brandProperty.id, unknown], 'status')
  expect(stdout).toContain(
    `The next search will not get 1 custom property of pull.customPropertyIds: ${unknown} is none that this key can see.`,
  )
  expect(stdout).not.toContain(otherIdentifierProperty.id)
})
