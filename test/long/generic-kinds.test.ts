import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { contractFileWithText } from '../helpers/contract-file.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const seed = 7
const hotels = 16

/** Three of our kinds as a deployment would describe them, under names of their own. */
const kinds = `
kinds:
  own_calculators:
    endpoint: { method: POST, path: /api/v1/bulk/calculators/upsert, source: stated }
    taskName: { kind: BulkProcessingRequest, requestType: BulkUpsertCompanyCalculators, source: assumed }
    stream: own_readings
    columns: [hotel, year, month, month_name, inputs]
    partnerId: hotel
    key: [year, month]
    rows: { default: 100, maximum: 500 }
    body:
      head: { groupId: { $setting: groupId }, customIdentifierId: { $setting: customIdentifierId } }
      list: companies
      element: { identifier: { $column: hotel } }
      inner:
        list: calculators
        element:
          period: { year: { $column: year, as: number }, month: { $column: month_name, optional: true } }
          inputs: { $column: inputs, as: json }
    outcomes:
      resultFile: { list: companies, id: identifier, status: status, accepted: [Success], rejected: [Failed], reason: errors }
  own_values:
    endpoint: { method: POST, path: /api/v2/bulk/companies/upsert, source: stated }
    taskName: { kind: BulkProcessingRequest, requestType: BulkUpsertCompanies, source: assumed }
    stream: own_values
    columns: [partner_id, property_id, value]
    key: [property_id]
    rows: { default: 20 }
    body:
      head: { customIdentifierId: { $setting: customIdentifierId } }
      list: companies
      element: { identifier: { $column: partner_id } }
      inner: { list: customProperties, element: { propertyId: { $column: property_id }, value: { $column: value } } }
    outcomes: error_rows
  own_standards:
    endpoint: { method: POST, path: /api/v2/bulk/standards/holders/upsert, source: stated }
    taskName: { kind: BulkProcessingRequest, requestType: BulkUpsertStandardHolders, source: assumed }
    stream: own_standards
    columns: [partner_id, standard_id, level, start_date, expiry_date]
    key: [standard_id]
    rows: { default: 8 }
    body:
      head: { customIdentifierId: { $setting: customIdentifierId } }
      list: holders
      element:
        identifier: { $column: partner_id }
        standardId: { $column: standard_id }
        level: { $column: level, optional: true }
        startDate: { $column: start_date, optional: true }
        expiryDate: { $column: expiry_date, optional: true }
    outcomes: error_rows
`

/** Which stream of the contract stands for which of ours. */
const standsFor = {
  own_readings: 'calculator_inputs',
  own_values: 'custom_property_values',
  own_standards: 'standard_holders',
}

/** The readings of one period as the deployment takes them; months by their names. */
const readings = `
  select h.code as hotel, r.year, r.month, trim(to_char(make_date(2000, r.month, 1), 'Month')) as month_name,
         json_agg(json_build_object('fieldTypeId', m.field_type_id, 'value', r.value::text) order by m.meter_id) as inputs,
         max(r.updated_at) as updated_at
  from hotelier.meter_reading r
  join hotelier.hotel h using (hotel_id)
  join hotelier.meter m using (meter_id)
  group by h.code, r.year, r.month`

type Streams = Record<string, { query: string; cursor?: string; capture?: 'snapshot'; requires?: string[] }>
type Document = Record<string, unknown> & { streams: Streams }

/** The demo's configuration without the switches of calculators, which travel with our readings only. */
function builtIn(): Document {
  const { streams, ...rest } = parse(readFileSync(demoConfig, 'utf8')) as Document
  const { calculator_settings: _, ...kept } = streams
  return { ...rest, streams: kept }
}

/** The same rows under the streams of the contract, which says itself what they require. */
function generic(contract: string): Document {
  const { streams, exchange, ...rest } = builtIn() as Document & { exchange: object }
  const { calculator_inputs: _, custom_property_values: values, standard_holders: standards, ...kept } = streams
  const added = { own_readings: readings, own_values: values?.query ?? '', own_standards: standards?.query ?? '' }
  const own = Object.entries(added).map(([name, query]) => [name, { query, cursor: 'updated_at' }] as const)
  // One of them by snapshots: what is read is the same.
  const snapshot = { own_values: { query: added.own_values, capture: 'snapshot' as const } }
  return { ...rest, exchange: { ...exchange, contract }, streams: { ...kept, ...Object.fromEntries(own), ...snapshot } }
}

type Partner = World & { run: (...args: string[]) => Promise<string>; night: () => Promise<RunReport> }

async function partner(configuration: Document): Promise<Partner> {
  const world = await startWorld({ hotels, seed })
  onTestFinished(() => world[Symbol.asyncDispose]())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  await writeFile(join(folder.path, 'nightferry.yaml'), stringify(configuration))
  const run = async (...args: string[]) => {
    const { stdout, stderr } = await nightferry(folder.path, args, world.environment())
    expect(stderr).not.toContain('nightferry:')
    return stdout
  }
  const night = async () => JSON.parse(await run('run', 'nightly-sync', '--json')) as RunReport
  return { ...world, run, night }
}

/** A certificate of no such level, a meter that the service does not know, and a hotel that it will not match. */
async function spoil({ partnerPool }: World): Promise<void> {
  await partnerPool.query(`
    update hotelier.certificate set level = 'No such level'
    where hotel_id = (select min(hotel_id) from hotelier.certificate);
    insert into hotelier.meter values (99, 'Unknown there', '00000000-0000-4000-8000-000000000002');
    insert into hotelier.meter_reading select 8, 99, min(year), 3, 12.5 from hotelier.meter_reading where hotel_id = 8;
    insert into hotelier.hotel (hotel_id, code, name) values (9999, 'H-9999', 'Nowhere Inn');
    insert into hotelier.certificate select 9999, standard_id, level, start_date, expiry_date
    from hotelier.certificate order by hotel_id desc limit 1`)
}

const stateTables = ['standard_holder', 'property_value', 'calculator', 'company', 'answer', 'company_setting']

/** Everything that the service holds of the companies, row by row. */
async function stateOfService({ sandboxPool }: World): Promise<Record<string, string[]>> {
  const read = async (table: string) => {
    const { rows } = await sandboxPool.query<{ row: string }>(
      `select (to_jsonb(t) - 'changed_at')::text as row from sandbox.${table} t order by 1`,
    )
    return [table, rows.map(({ row }) => row)] as const
  }
  return Object.fromEntries(await Promise.all(stateTables.map(read)))
}

type Row = { stream: string; partner_id: string; row_key: string; outcome: string; code: string; accepted: boolean }

/** What became of every row, under the names of our streams. */
async function outcomes({ pool }: World): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `select stream, partner_id, row_key, outcome, outcome_code as code, not pending as accepted
     from ledger`,
  )
  return rows
    .map((row) => ({ ...row, stream: standsFor[row.stream as keyof typeof standsFor] ?? row.stream }))
    .toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other)))
}

/** Counts of a report, under the names of our streams. */
function counts({ streams, verdict, remarks }: RunReport) {
  const named = streams.map(({ stream, pending, sent, confirmed, inferred, rejected, unknown, invalid, parked }) => ({
    stream: standsFor[stream as keyof typeof standsFor] ?? stream,
    ...{ pending, sent, confirmed, inferred, rejected, unknown, invalid, parked },
  }))
  return { verdict, remarks, streams: named.toSorted((one, other) => one.stream.localeCompare(other.stream)) }
}

/** What searches brought back; the ledger is compared by itself. */
async function broughtBack({ pool }: World) {
  const { ledger: _, ...tables } = await finalTables(pool)
  return tables
}

test('kinds that a contract describes leave the service, the rows and the report as our own kinds do', async () => {
  const [ours, theirs] = await Promise.all([partner(builtIn()), partner(generic(contractFileWithText(kinds)))])

  const compare = async () => {
    const [first, second] = [await ours.night(), await theirs.night()]
    expect(counts(second)).toEqual(counts(first))
    expect(await stateOfService(theirs)).toEqual(await stateOfService(ours))
    expect(await outcomes(theirs)).toEqual(await outcomes(ours))
    expect(await broughtBack(theirs)).toEqual(await broughtBack(ours))
    return { ours: first, theirs: second }
  }
  const first = await compare()
  expect((await stateOfService(theirs)).standard_holder?.length).toBeGreaterThan(10)
  expect((await stateOfService(theirs)).property_value?.length).toBeGreaterThan(20)

  for (const world of [ours, theirs]) {
    await applySecondNight(world.partnerPool, { hotels, seed, asOf: new Date() })
    await spoil(world)
  }
  await compare()
  const rejected = (await outcomes(theirs)).filter(({ outcome }) => outcome === 'rejected').map(({ stream }) => stream)
  expect(new Set(rejected)).toEqual(
    new Set(['properties', 'framework_answers', 'calculator_inputs', 'standard_holders']),
  )

  const third = await compare()
  expect(third.theirs.streams.filter(({ stream }) => stream in standsFor)).toEqual(
    Object.keys(standsFor).map(() => expect.objectContaining({ changed: 0, sent: 0 })),
  )
  expect(await outcomes(theirs)).toContainEqual(
    expect.objectContaining({ partner_id: 'H-9999', stream: 'standard_holders', accepted: false, outcome: null }),
  )

  // Hotels in several requests of a kind, one after the other, and none before it is matched.
  expect(first.theirs.submissions.length).toBeGreaterThan(6)
  expect(await upsertsReceived(theirs.sandboxPool)).toBeGreaterThan(6)
  expect(await sentTooEarly(theirs.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(theirs.sandboxPool)).toEqual([])
}, 480_000)

test('people see rows of a kind that the contract describes as they see any other', async () => {
  const world = await partner(generic(contractFileWithText(kinds)))
  await spoil(world)
  await world.partnerPool.query(
    `update hotelier.certificate set standard_id = '00000000-0000-4000-8000-000000000003'
     where hotel_id = (select max(hotel_id) from hotelier.certificate where hotel_id < 9999)`,
  )
  await world.run('migrate')
  const plan = JSON.parse(await world.run('plan', '--bodies', '--json')) as {
    waves: { requests: { kind: string }[] }[]
    bodies: { kind: string; body: string }[]
  }
  const [, second] = plan.waves
  expect(new Set(second?.requests.map(({ kind }) => kind))).toEqual(
    new Set(['framework_answers', 'own_calculators', 'own_values', 'own_standards']),
  )
  const { holders } = JSON.parse(plan.bodies.find(({ kind }) => kind === 'own_standards')?.body ?? '') as {
    holders: object[]
  }
  expect(holders[0]).toMatchObject({ identifier: expect.stringMatching(/^H-/), standardId: expect.any(String) })
  expect(holders.length).toBeLessThanOrEqual(8)

  const { verdict, submissions } = await world.night()
  expect(verdict).toBe('partial')
  expect(submissions.map(({ kind }) => kind)).toContain('own_standards')

  const rejected = JSON.parse(await world.run('rejected', '--stream', 'own_standards', '--json')) as Record<
    string,
    string
  >[]
  expect(new Set(rejected.map(({ code }) => code))).toEqual(new Set(['level_not_found', 'standard_not_found']))
  expect(rejected).toHaveLength(2)
  const parked = await world.run('parked', '--rows', '--stream', 'own_standards')
  expect(parked).toMatch(/H-9999 +own_standards .*its properties row was rejected/)
  const trace = await world.run('trace', rejected[0]?.partner_id ?? '')
  expect(trace).toContain('own_standards')
  expect(trace).toContain(rejected[0]?.code)
  expect(await world.run('status')).toMatch(/own_readings .*\d/)
  expect(await world.run('retry', '--stream', 'own_standards', '--dry-run')).toContain('own_standards: 2')
  expect(await world.run('drift', '--stream', 'own_values')).toContain(
    'Nothing of own_values is known to be at the service and gone here',
  )
}, 480_000)

test('a stream that neither we nor the contract know is refused before anything is opened', async () => {
  await using folder = await workingFolder()
  const configured = generic(contractFileWithText(kinds))
  configured.streams.own_reading = { query: 'select 1', cursor: 'x', requires: ['own_values', 'own_value'] }
  await writeFile(join(folder.path, 'nightferry.yaml'), stringify(configured))
  const wrong = await nightferry(folder.path, ['status'])
  expect(wrong.code).toBe(2)
  expect(wrong.stderr).toMatch(
    /streams\.own_reading: is no stream; there are properties, .*own_readings, own_values, own_standards/,
  )
  expect(wrong.stderr).toContain('streams.own_reading.requires.1: is no stream')

  const again = contractFileWithText(kinds.replaceAll('own_standards', 'standard_holders'))
  const clash = await nightferry(folder.path, ['status', '--set', `exchange.contract=${again}`])
  expect(clash.code).toBe(2)
  expect(clash.stderr).toContain('kinds.standard_holders: is the name of a kind that Nightferry has')
})
