import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Ferry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { declined, energy, type JudgedLedger, openJudgedLedger, row } from './judged-ledger.ts'

let table: JudgedLedger
let ferry: Ferry
beforeAll(async () => {
  table = await openJudgedLedger()
  ferry = table.ferry
})
beforeEach(async () => {
  await ferry.clear()
  await table.knowFramework()
})
afterAll(() => table[Symbol.asyncDispose]())

type Content = Record<string, unknown>

const answers = 'framework_answers'
const brand = (value: string) => ({ property_id: ids.brand, value })
const inCapitals = (value: string) => ({ property_id: ids.brand.toUpperCase(), value })
const inputs = (named: Record<string, string | null>) => ({ year: '2025', inputs: named })

/** A row lands, and is judged. */
async function land(stream: string, key: string, content: Content, hotel = 'H-1'): Promise<void> {
  await ferry.ledger.land(stream, [row(key, content, hotel)])
  await table.judge()
}

const named = (key: string) => expect.stringContaining(`row ${key}`)

it.each<[string, string, Content, string, Content, string]>([
  ['of another hotel of its company', answers, energy, answers, { ...energy, value: '6' }, 'H-2'],
  ['that declines it', answers, { ...energy, value: '5' }, 'omissions', declined, 'H-1'],
  [
    'under another framework',
    ...([answers, { ...energy, framework_id: ids.framework }] as const),
    ...([answers, { ...energy, framework_id: ids.otherFramework, value: '6' }, 'H-1'] as const),
  ],
  ['in another spelling', 'custom_property_values', brand('A'), 'custom_property_values', inCapitals('B'), 'H-1'],
])(
  'a row that is sent again does not lose to one %s that was never accepted',
  async (_, stream, one, otherStream, two, hotel) => {
    await table.mapTogether('H-1', 'H-2')
    await land(stream, 'one', one)
    await table.accept('one')
    await land(otherStream, 'two', two, hotel)
    const before = { one: null, two: named('one') }
    expect(await table.reasons()).toEqual(before)
    await table.sendAgain({ stream, partnerId: 'H-1' })
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual(before)
    // Nor where the night broke off, and the next judges by something else.
    await table.knowFramework('Renamed')
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual(before)
  },
)

it.each<[string, () => Promise<unknown>, string[]]>([
  ['accepted', () => table.accept('two'), ['one']],
  ['in flight', () => hold('two'), ['one', 'two']],
  ['sent to an end that nobody knows', () => unknown('two'), ['one', 'two']],
  ['rejected alone, and may have been taken,', () => rejectedAlone('two'), ['one', 'two']],
  [
    'sent to an end that nobody knows, and rejected for certain,',
    async () => {
      await unknown('two')
      await rejected('two', 'OutOfRange')
    },
    ['one', 'two'],
  ],
  ['accepted and sent again as well', () => acceptAndSendAgain('two', 'H-2'), ['one', 'two']],
])('a row that is sent again loses to another that was %s since', async (_, change, losing) => {
  await land(answers, 'one', energy)
  await table.accept('one')
  await land(answers, 'two', { ...energy, value: '6' }, 'H-2')
  await change()
  await table.mapTogether('H-1', 'H-2')
  await table.sendAgain({ partnerId: 'H-1' })
  await table.judge()
  const reasons = await table.reasons()
  expect(Object.keys(reasons).filter((key) => reasons[key] !== null)).toEqual(losing)
})

it('a row that changed after it was to be sent again is a newcomer', async () => {
  await table.mapTogether('H-1', 'H-2')
  await land(answers, 'one', energy)
  await table.accept('one')
  await land(answers, 'two', { ...energy, value: '6' }, 'H-2')
  await table.sendAgain({ partnerId: 'H-1' })
  await land(answers, 'one', { ...energy, value: '7' })
  expect(await table.reasons()).toEqual({ one: named('two'), two: named('one') })
})

it.each<[string, string | null, string | null]>([
  ['is sent, with its other inputs, where the value cannot be', 'no number', null],
  ['is at fault where the value goes out', null, 'row two'],
])('a blank that is sent again %s', async (_, wrongYear, fault) => {
  await table.mapTogether('H-1', 'H-2')
  const blank = inputs({ [ids.field]: null, [ids.otherField]: '1' })
  const value = inputs({ [ids.field]: '5', ...(wrongYear === null ? {} : { 'not an id': '5' }) })
  await land('calculator_inputs', 'one', blank)
  await table.accept('one')
  await land('calculator_inputs', 'two', value, 'H-2')
  await table.sendAgain({ partnerId: 'H-1' })
  await table.judge()
  expect((await table.reasons()).one).toEqual(fault === null ? null : expect.stringContaining(fault))
})

async function acceptAndSendAgain(key: string, partnerId: string): Promise<void> {
  await table.accept(key)
  await table.sendAgain({ partnerId })
}

async function hold(rowKey: string): Promise<void> {
  const runId = await ferry.ledger.startRun()
  await sql`
    with planned as (
      insert into submission (run_id, kind, state, row_count) values (${runId}, 'framework_answers', 'planned', 1)
      returning submission_id
    ),
    held as (
      insert into held_property (partner_id, stream, submission_id)
      select partner_id, stream, submission_id from planned, source_row where row_key = ${rowKey}
    )
    insert into submission_row (submission_id, row_id, sent_hash)
    select submission_id, row_id, desired_hash from planned, source_row where row_key = ${rowKey}`.execute(
    ferry.ledger.db,
  )
}

async function unknown(rowKey: string): Promise<void> {
  await sql`
    update acceptance
    set outcome = 'unknown', outcome_at = clock_timestamp(), perhaps_taken_at = clock_timestamp()
    where row_id = (select row_id from source_row where row_key = ${rowKey})`.execute(ferry.ledger.db)
}

async function rejectedAlone(rowKey: string): Promise<void> {
  await rejected(rowKey, 'task_error_alone')
  await sql`
    update acceptance set perhaps_taken_at = outcome_at
    where row_id = (select row_id from source_row where row_key = ${rowKey})`.execute(ferry.ledger.db)
}

async function rejected(rowKey: string, code: string): Promise<void> {
  await sql`
    update acceptance
    set outcome = 'rejected', outcome_code = ${code}, refused_hash = wanted_hash, outcome_at = clock_timestamp()
    where row_id = (select row_id from source_row where row_key = ${rowKey})`.execute(ferry.ledger.db)
}
