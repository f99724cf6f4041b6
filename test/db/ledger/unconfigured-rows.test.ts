import { sql } from 'kysely'
import { beforeEach, expect, it } from 'vitest'
import { requirementsOf } from '../../../src/config/require-settings.ts'
import { settings } from '../../../src/config/schema.ts'
import { waitingPlans } from '../../../src/db/guard/guard-plan.ts'
import type { Requires } from '../../../src/db/ledger/requirements.ts'
import { causesOfRows, rowsInState } from '../../../src/db/ledger/rows-in-state.ts'
import { rowsNotAccepted } from '../../../src/db/ledger/rows-not-accepted.ts'
import { oldestUnaccepted, statusCounts } from '../../../src/db/ledger/status-counts.ts'
import { needsOf } from '../../../src/db/nights/night-facts.ts'
import { traceRows } from '../../../src/db/trace/trace-rows.ts'
import { carriedStreams } from '../../../src/pipeline/streams/our-streams.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { contract } from '../../pipeline/pull/sample-page.ts'
import { openLedger } from './ledger.ts'

const ledger = await ofThisFile(openLedger())

/** As it was, and as it is without the stream `cars`, which a kind of the contract added. */
const before: Requires = { properties: [], cars: ['properties'], rooms: ['cars'] }
const now: Requires = { properties: [], rooms: ['cars'] }
const states = ['rejected', 'invalid', 'unknown', 'parked'] as const

beforeEach(async () => {
  await ledger.clear()
  const property = (partner_id: string) => ({ partner_id, content: { name: partner_id } })
  const car = (name: string) => ({ partner_id: 'H-1', row_key: name, content: { name } })
  await ledger.landChecked('properties', [property('H-1')], true)
  await ledger.landChecked('cars', [car('taken')], true)
  await ledger.landChecked('cars', ['refused', 'wrong', 'lost', 'new', 'sold'].map(car))
  await ledger.landChecked('rooms', [{ partner_id: 'H-1', row_key: 'room', content: {} }])
  const are = (name: string, change: ReturnType<typeof sql>) =>
    sql`update acceptance set ${change} where row_id = (select row_id from source_row where row_key = ${name})`.execute(
      ledger.db,
    )
  const said = (outcome: string) =>
    sql`outcome = ${outcome}, outcome_code = 'NotFound', outcome_reason = 'No car', outcome_at = clock_timestamp()`
  await are('refused', sql`${said('rejected')}, refused_hash = wanted_hash`)
  await are('wrong', sql`invalid_reason = 'no wheels'`)
  await are('lost', said('unknown'))
  await sql`update source_row set gone_at = clock_timestamp() where row_key = 'sold'`.execute(ledger.db)
})

const car = async (requires: Requires) =>
  (await statusCounts(ledger.db, requires)).find(({ stream }) => stream === 'cars')

it('status counts what is not accepted of a stream that was taken out in one state of its own, and what is accepted as before', async () => {
  const at = { rows: 5, accepted: 1, gone: 1 }
  const none = { pending: 0, rejected: 0, invalid: 0, unknown: 0, parked: 0, held: 0, in_flight: 0 }
  expect(await car(before)).toMatchObject({ ...at, pending: 4, rejected: 1, invalid: 1, unknown: 1, unconfigured: 0 })
  expect(await car(now)).toMatchObject({ ...at, ...none, unconfigured: 4, oldest_pending: null })
  expect(await car(before), 'put back').toMatchObject({ ...at, pending: 4, unconfigured: 0 })
})

it('rows of a stream that was taken out need nobody, and are not the oldest change that is not accepted', async () => {
  const rooms = await ledger.row('rooms', 'room')
  expect(await oldestUnaccepted(ledger.db, now)).toEqual(rooms.changed_at)
  expect(await needsOf(ledger.db, now)).toEqual([{ state: 'parked', rows: 1, hotels: 1 }])
  expect((await rowsNotAccepted(ledger.db, before, 10)).map(({ row_key }) => row_key).sort()).toEqual([
    'lost',
    'refused',
    'wrong',
  ])
  expect(await rowsNotAccepted(ledger.db, now, 10)).toEqual([])
  for (const state of some(states)) {
    const rows = await rowsInState(ledger.db, state, { requires: now, limit: 10 })
    const causes = await causesOfRows(ledger.db, state, { requires: now, limit: 10 })
    expect(rows.filter(({ stream }) => stream === 'cars')).toEqual([])
    expect(causes.filter(({ stream }) => stream === 'cars')).toEqual([])
  }
})

it('a trace says that no run sends rows of a stream that was taken out, with what was said of them last', async () => {
  const rows = (await traceRows(ledger.db, 'H-1', now, [])).filter(({ stream }) => stream === 'cars')
  const told = Object.fromEntries(rows.map(({ row_key, state, reason }) => [row_key, [state, reason]]))
  expect(told).toEqual({
    taken: ['accepted', null],
    refused: ['unconfigured', 'No car'],
    wrong: ['unconfigured', 'no wheels'],
    lost: ['unconfigured', 'No car'],
    new: ['unconfigured', null],
    sold: ['gone', null],
  })
})

it('a row that requires one of a stream that was taken out says so, and not that the next run sends that one', async () => {
  const [row, ...more] = await rowsInState(ledger.db, 'parked', { requires: now, limit: 10 })
  expect(more).toEqual([])
  expect(row).toMatchObject({
    stream: 'rooms',
    code: 'requires_unconfigured',
    reason: 'it requires cars, which is not in the configuration: no run reads or sends that row',
  })
})

it('what is on its way as its stream is taken out stays so until its request has ended', async () => {
  const run = await ledger.startRun()
  const [submission] = await ledger.plan(run, { kind: 'cars', streams: ['cars'], partitionBy: null })
  if (submission === undefined) throw new Error('nothing was planned')
  const inFlight = (await car(before))?.in_flight ?? 0
  expect(inFlight).toBeGreaterThan(0)
  expect(await car(now)).toMatchObject({ in_flight: inFlight, pending: inFlight, unconfigured: 4 - inFlight })
})

it('what the guard holds of a stream that was taken out waits for nobody, and holds no row of another', async () => {
  const run = await ledger.startRun()
  await sql`update run set held = true, state = 'finished' where run_id = ${run}`.execute(ledger.db)
  const plan = { run_id: run, stream: 'cars', reason: 'empty', known: 5, new: 0, changed: 0, gone: 5 } as const
  await ledger.db
    .insertInto('guard_plan')
    .values({ ...plan, examples: '[]', state: 'waiting' })
    .execute()
  await sql`update source_row set guard_run = ${run}, guard_change = 'gone' where row_key = 'taken'`.execute(ledger.db)
  await ledger.landChecked('properties', [{ partner_id: 'H-2', content: {} }])
  const pending = async (requires: Requires) =>
    (await traceRows(ledger.db, 'H-2', requires, [])).map((row) => row.state)
  expect(await waitingPlans(ledger.db, before)).toMatchObject([plan])
  expect(await pending(before)).toEqual(['held'])
  expect(await waitingPlans(ledger.db, now)).toEqual([])
  expect(await pending(now)).toEqual(['pending'])
  expect(await car(now)).toMatchObject({ held: 0 })
  expect((await needsOf(ledger.db, now)).filter(({ state }) => state === 'held')).toEqual([])
})

it('a configuration without a stream, by which somebody only looks, takes none out', async () => {
  const counts = await car({})
  expect(counts).toMatchObject({ pending: 4, rejected: 1, invalid: 1, unknown: 1, unconfigured: 0 })
})

it('the streams that what is told goes by are those that runs carry, also of a kind that the contract adds', () => {
  const stream = { query: 'select', cursor: 'updated_at' }
  const cars = { stream: 'cars' } as (typeof contract)['kinds'][number]
  const config = settings.parse({ exchange: {}, partner: {}, streams: { omissions: stream, cars: stream } })
  const told = Object.keys(requirementsOf(config)).sort()
  expect(told).toEqual(['cars', 'omissions'])
  expect(told).toEqual(carriedStreams({ ...contract, kinds: [cars] }, config).sort())
})
