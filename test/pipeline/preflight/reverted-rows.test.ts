import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { allDestinations, destinationInUse } from '../../../src/pipeline/destination/find-destination.ts'
import { makeDestination, switchDestination } from '../../../src/pipeline/destination/switch-destination.ts'
import type { Ferry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { energy, type JudgedLedger, openJudgedLedger, row } from './judged-ledger.ts'

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

/** Both rows land, and are judged. */
async function land(stream: string, one: Content, two: Content, hotel: string): Promise<void> {
  await ferry.ledger.land(stream, [row('one', one), row('two', two, hotel)])
  await table.judge()
}

/** The first row says what was accepted of it again, and is judged; whether it is pending then. */
async function revert(stream: string, one: Content): Promise<boolean> {
  await ferry.ledger.land(stream, [row('one', one)])
  const { accepted_hash, outcome_code } = await ferry.ledger.row(stream, 'one')
  expect(outcome_code).toBe(accepted_hash === null ? 'row_reverted' : null)
  return accepted_hash === null
}

const inputs = (value: string) => ({ year: '2025', inputs: { [ids.field]: value } })

it.each<[string, string, string, Content, Content]>([
  ['an answer', 'H-2', 'framework_answers', energy, { ...energy, value: '7' }],
  ['an input', 'H-2', 'calculator_inputs', inputs('5'), inputs('7')],
  ['a switch', 'H-2', 'calculator_settings', { automatic_publishing: 'true' }, { automatic_publishing: 'false' }],
  [
    'a property value',
    'H-2',
    'custom_property_values',
    { property_id: ids.brand, value: 'A' },
    { property_id: ids.brand, value: 'B' },
  ],
  [
    'a standard',
    'H-2',
    'standard_holders',
    { standard_id: ids.standard, level: 'Gold' },
    { standard_id: ids.standard, level: 'Silver' },
  ],
])(
  '%s that becomes what was accepted again is at fault where another hotel has overwritten it meanwhile',
  async (_, hotel, stream, before, after) => {
    await table.mapTogether('H-1', hotel)
    await land(stream, before, before, hotel)
    await table.accept('one', 'two')
    await land(stream, after, after, hotel)
    await table.accept('two')
    expect(await revert(stream, before)).toBe(true)
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual({
      one: expect.stringMatching(/^H-2 is confirmed for the same company .* \(row two\)/),
      two: null,
    })
  },
)

it('an answer that becomes what was accepted again is at fault where its other framework has overwritten it', async () => {
  const under = (framework_id: string, value: string) => ({ ...energy, framework_id, value })
  await land('framework_answers', under(ids.framework, '5'), under(ids.otherFramework, '5'), 'H-1')
  await table.accept('one', 'two')
  await land('framework_answers', under(ids.framework, '7'), under(ids.otherFramework, '7'), 'H-1')
  await table.accept('two')
  expect(await revert('framework_answers', under(ids.framework, '5'))).toBe(true)
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
})

it.each<[string, () => Promise<unknown>]>([
  ['is gone', () => sql`update source_row set gone_at = clock_timestamp() where row_key = 'two'`.execute(db())],
  ['says the same', () => ferry.ledger.land('calculator_inputs', [row('two', inputs('5'), 'H-2')])],
])('a row that becomes what was accepted again is sent again where the one that overwrote it %s', async (_, change) => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
  await table.accept('two')
  await change()
  expect(await revert('calculator_inputs', inputs('5'))).toBe(true)
  expect(await table.judge()).toMatchObject({ contradicting: 0 })
})

it.each<[string, () => Promise<unknown>]>([
  ['is in flight', () => hold('two')],
  ['was sent to an end that nobody knows', () => ends('two', 'unknown')],
  ['failed alone', () => ends('two', 'rejected', { code: 'task_error_alone' })],
  ['was rejected at the second go', () => ends('two', 'rejected', { repeats: 1 })],
  [
    'was sent to an end that nobody knows, was rejected since, and is gone',
    async () => {
      await ends('two', 'unknown')
      await ends('two', 'rejected', { code: 'OutOfRange' })
      await sql`update source_row set gone_at = clock_timestamp() where row_key = 'two'`.execute(db())
    },
  ],
])(
  'a row that becomes what was accepted again is sent again where another one that writes it %s',
  async (_, change) => {
    await table.mapTogether('H-1', 'H-2')
    await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
    await table.accept('one', 'two')
    await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
    await change()
    expect(await revert('calculator_inputs', inputs('5'))).toBe(true)
  },
)

it.each<[string, () => Promise<unknown>]>([
  ['nothing was written since', () => Promise.resolve()],
  ['all that was sent since is shown to have been rejected', () => ends('two', 'rejected', { code: 'OutOfRange' })],
])('a row that becomes what was accepted again stays accepted where %s', async (_, change) => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
  await change()
  await ferry.ledger.land('calculator_inputs', [row('two', inputs('5'), 'H-2')])
  expect(await revert('calculator_inputs', inputs('5'))).toBe(false)
  expect(await table.judge()).toEqual({ judged: 0, invalid: 0, contradicting: 0 })
})

it('a row that becomes what was accepted again is at fault over a later request of another, though a clock was ahead', async () => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
  await table.accept('two')
  const { rows } = await sql<{ id: number }>`select submission_id as id from submission order by 1`.execute(db())
  for (const [key, by] of [
    ['one', rows[0]],
    ['two', rows[1]],
  ] as const) {
    await sql`
      update acceptance set outcome = 'confirmed', outcome_submission = ${by?.id}
      where row_id = (select row_id from source_row where row_key = ${key})`.execute(db())
  }
  // All is past: the clock was five hours ahead as the row changed, and right as the other was accepted.
  await sql`update acceptance set accepted_at = accepted_at - interval '9 hours'`.execute(db())
  await sql`update row_change set changed_at = changed_at - interval '4 hours'`.execute(db())
  expect(await revert('calculator_inputs', inputs('5'))).toBe(true)
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
})

it('a row that waits since an earlier night is compared with one that becomes what was accepted again', async () => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
  await table.judge()
  expect(await revert('calculator_inputs', inputs('5'))).toBe(false)
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
  expect(await table.reasons()).toEqual({ one: null, two: expect.stringContaining('row one') })
})

it('a row that became what was accepted again while another destination was in use is judged like that', async () => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await land('calculator_inputs', inputs('7'), inputs('7'), 'H-2')
  await table.accept('two')
  await whileAnotherIsInUse(() => ferry.ledger.land('calculator_inputs', [row('one', inputs('5'))]))
  expect(await ferry.ledger.row('calculator_inputs', 'one')).toMatchObject({
    ...{ pending: true, outcome_code: 'row_reverted' },
  })
  expect(await table.judge()).toMatchObject({ contradicting: 1 })
})

it.each<[string, string[], string | null]>([
  ['that was accepted', ['one'], 'row_returned'],
  ['that nobody has accepted yet', [], null],
])(
  'a row %s, was gone and is there again while another destination was in use, is compared before it goes out',
  async (_, taken, outcome_code) => {
    await table.mapTogether('H-1', 'H-2')
    await ferry.ledger.land('calculator_inputs', [row('one', inputs('5'))])
    await table.judge()
    await table.accept(...taken)
    await sql`update source_row set gone_at = clock_timestamp() where row_key = 'one'`.execute(db())
    await ferry.ledger.land('calculator_inputs', [row('two', inputs('6'), 'H-2')])
    await table.judge()
    await table.accept('two')
    await whileAnotherIsInUse(() => ferry.ledger.land('calculator_inputs', [row('one', inputs('5'))]))
    expect(await ferry.ledger.row('calculator_inputs', 'one')).toMatchObject({ pending: true, outcome_code })
    expect(await table.judge()).toMatchObject({ contradicting: 1 })
    expect(await table.reasons()).toEqual({ one: expect.stringContaining('row two'), two: null })
  },
)

it.each<[string, string, () => Promise<unknown>]>([
  [
    'says again what may have been overwritten',
    'row_reverted',
    async () => {
      await ferry.ledger.land('calculator_inputs', [row('two', inputs('8'), 'H-2')])
      await table.accept('two')
      await revert('calculator_inputs', inputs('5'))
    },
  ],
  ['is gone', 'row_returned', () => sql`update source_row set gone_at = clock_timestamp()`.execute(db())],
  [
    'says again what was accepted, which is sent again',
    'sent_again',
    async () => {
      await ferry.ledger.land('calculator_inputs', [row('one', inputs('5'))])
      await table.sendAgain({ partnerId: 'H-1' })
    },
  ],
])('what was rejected of a row that %s is not kept out by a verdict that is forgotten', async (_, code, forget) => {
  await table.mapTogether('H-1', 'H-2')
  await land('calculator_inputs', inputs('5'), inputs('5'), 'H-2')
  await table.accept('one', 'two')
  await ferry.ledger.land('calculator_inputs', [row('one', inputs('7'))])
  await ends('one', 'rejected', { code: 'OutOfRange', keepOut: true })
  expect((await ferry.ledger.row('calculator_inputs', 'one')).refused_hash).not.toBeNull()
  await forget()
  await ferry.ledger.land('calculator_inputs', [row('one', inputs('7'))])
  expect(await ferry.ledger.row('calculator_inputs', 'one')).toMatchObject({
    ...{ pending: true, outcome: null, outcome_code: code, refused_hash: null },
  })
})

async function whileAnotherIsInUse(change: () => Promise<unknown>): Promise<void> {
  const { ledger } = ferry
  const first = await ledger.inTransaction(destinationInUse)
  const another = (await allDestinations(db())).find(({ name }) => name === 'other')
  await ledger.inTransaction(async (trx) => switchDestination(trx, another ?? (await makeDestination(trx, 'other'))))
  await change()
  const waiting = (await allDestinations(db())).find(({ destination_id }) => destination_id === first.destination_id)
  await ledger.inTransaction((trx) => switchDestination(trx, waiting ?? first))
}

const db = () => ferry.ledger.db

async function hold(rowKey: string, on = db()): Promise<void> {
  await sql`
    with held as (
      insert into held_property (partner_id, stream, submission_id)
      select partner_id, stream, (select max(submission_id) from submission) from source_row where row_key = ${rowKey}
      returning submission_id
    )
    insert into submission_row (submission_id, row_id, sent_hash)
    select submission_id, row_id, desired_hash from held, source_row where row_key = ${rowKey}`.execute(on)
}

/** What a request of its own brings of a row, as it is settled. */
async function ends(
  rowKey: string,
  outcome: 'rejected' | 'unknown',
  { code = null, repeats = 0, keepOut = false }: { code?: string | null; repeats?: number; keepOut?: boolean } = {},
): Promise<void> {
  await ferry.ledger.inTransaction(async (trx) => {
    const { rows } = await sql<{ submission_id: number }>`
      insert into submission (run_id, kind, state, row_count, repeats)
      select max(run_id), 'calculators', 'settled', 1, ${repeats} from run returning submission_id`.execute(trx)
    await hold(rowKey, trx)
    await settleRows(trx, rows[0]?.submission_id ?? 0, keepOut, async () => {
      await sql`
        insert into verdict (row_id, outcome, code) select row_id, ${outcome}, ${code} from carried_row`.execute(trx)
      return { outcome: 'inferred' }
    })
  })
}
