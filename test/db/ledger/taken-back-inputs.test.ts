import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import { settleRows } from '../../../src/db/ledger/settle-outcomes.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { openLedger, requestElsewhere } from './ledger.ts'

const ledger = await ofThisFile(openLedger())
let runId: number
beforeEach(async () => {
  await ledger.clear()
  runId = await ledger.startRun()
})

const stream = 'calculator_inputs'
const land = (...values: Record<string, string | null>[]) =>
  ledger.land(
    stream,
    values.map((inputs) => ({ partner_id: 'H-1', content: { year: '2025', inputs } })),
    'inputs',
  )
const row = () => ledger.row(stream, 'H-1')
const inputs = async () => (await row()).content.inputs

/** Plans what is pending, and marks it as sent. */
async function send(): Promise<number> {
  await sql`update acceptance set checked_hash = wanted_hash`.execute(ledger.db)
  const [submission] = await ledger.plan(runId, { kind: 'calculators', streams: [stream], partitionBy: null })
  if (submission === undefined) throw new Error('nothing was planned')
  await ledger.markSent(submission)
  return submission
}

async function sendAnd(outcome: 'confirmed' | 'rejected' | 'unknown'): Promise<void> {
  await ledger.settleAll(await send(), outcome)
}

type Doubt = { code?: string; repeats?: number; may_be_taken?: boolean }

/** A rejection that shows not for certain that the service left the row out. */
async function rejectInDoubt({ code = 'OutOfRange', repeats = 0, may_be_taken = false }: Doubt): Promise<void> {
  const submission = await send()
  await ledger.inTransaction(async (trx) => {
    await sql`update submission set repeats = ${repeats}, state = 'settled' where submission_id = ${submission}`.execute(
      trx,
    )
    await settleRows(trx, submission, true, async () => {
      await sql`
        insert into verdict (row_id, outcome, code, may_be_taken)
        select row_id, 'rejected', ${code}, ${may_be_taken}::boolean from carried_row`.execute(trx)
      return { outcome: 'inferred' }
    })
  })
}

/** The request went to a destination that waits. */
async function sentElsewhere(submission: number): Promise<AsyncDisposable> {
  const { db } = ledger
  const elsewhere = await requestElsewhere(ledger, { state: 'settled' })
  await sql`
    update submission set run_id = (select max(run_id) from run) where submission_id = ${submission}`.execute(db)
  return elsewhere
}

/** Its hotel has become another company. */
async function mappedSince(submission: number): Promise<null> {
  await sql`
    insert into mapping_change (partner_id, company_before, company_id, submission_id, rows)
    values ('H-1', gen_random_uuid(), gen_random_uuid(), ${submission}, 1)`.execute(ledger.db)
  return null
}

const doubts: [string, Doubt][] = [
  ['alone with its request', { code: 'task_error_alone' }],
  ['at the second go', { repeats: 1 }],
  ['by a result that contradicts itself', { may_be_taken: true }],
]

describe('an input that is taken back', () => {
  it.each(doubts)('a value of a row that was rejected %s is sent blank', async (_, doubt) => {
    await land({ a: '1', b: '5' })
    await rejectInDoubt(doubt)
    await land({ b: null })
    expect(await inputs()).toEqual({ a: '1', b: null })
  })

  it('a value that was rejected in doubt is sent blank where another was accepted before, and the row was rejected since', async () => {
    await land({ a: '1' })
    await sendAnd('confirmed')
    await land({ b: '5' })
    await rejectInDoubt({ repeats: 1 })
    await land({ a: '2' })
    await sendAnd('rejected')
    await land({ b: null })
    expect(await inputs()).toEqual({ a: '2', b: null })
  })

  it('a blank of a value that was rejected in doubt is left out once it was rejected itself', async () => {
    await land({ right: '1', wrong: '5' })
    await rejectInDoubt({ code: 'task_error_alone' })
    await land({ wrong: null })
    expect(await inputs()).toEqual({ right: '1', wrong: null })
    await rejectInDoubt({ code: 'task_error_alone' })
    await land({ wrong: null })
    expect(await inputs()).toEqual({ right: '1' })
    await land({ wrong: null })
    expect(await inputs()).toEqual({ right: '1' })
  })

  it('a name that was rejected goes without a blank when another stands in its place', async () => {
    await land({ wrong: '5' })
    await sendAnd('rejected')
    await land({ wrong: null, right: '5' })
    expect(await inputs()).toEqual({ right: '5' })
  })

  it('a name that was rejected goes without a blank beside one that was accepted', async () => {
    await land({ right: '1' })
    await sendAnd('confirmed')
    await land({ right: '2', wrong: '5' })
    await sendAnd('rejected')
    await land({ wrong: null })
    expect(await inputs()).toEqual({ right: '2' })
    await land({ right: null })
    expect(await inputs()).toEqual({ right: null })
  })

  it('a row that was rejected for an old blank is rid of it, although the partner says nothing new', async () => {
    await land({ wrong: '5', right: '5' })
    const submission = await send()
    await land({ wrong: null })
    await ledger.settleAll(submission, 'rejected')
    expect(await inputs()).toEqual({ wrong: null, right: '5' })
    await sendAnd('rejected')
    expect(await land({ right: '5' })).toMatchObject({ changed: 1 })
    expect(await inputs()).toEqual({ right: '5' })
  })

  it('a value that was accepted is sent blank, whatever was rejected since', async () => {
    await land({ a: '1', b: '1' })
    await sendAnd('confirmed')
    await land({ a: '2' })
    await sendAnd('rejected')
    await land({ a: null })
    expect(await inputs()).toEqual({ a: null, b: '1' })
    await land({ b: '3' })
    expect(await inputs()).toEqual({ a: null, b: '3' })
  })

  it('a blank that was accepted goes with the next change, and is no change by itself', async () => {
    await land({ a: '1', b: '1' })
    await sendAnd('confirmed')
    await land({ a: null })
    await sendAnd('confirmed')
    expect(await land({ a: null }, { b: '1' })).toMatchObject({ changed: 0 })
    expect((await row()).pending).toBe(false)
    await land({ b: '2' })
    expect(await inputs()).toEqual({ b: '2' })
  })

  it('a value in flight, or of which nobody knows whether it was taken, is sent blank', async () => {
    await land({ a: '1', b: '1' })
    const submission = await send()
    await land({ a: null })
    expect(await inputs()).toEqual({ a: null, b: '1' })
    await ledger.settleAll(submission, 'unknown')
    await land({ b: '2' })
    expect(await inputs()).toEqual({ a: null, b: '2' })
  })

  it('a value that may have been taken is sent blank also after another request was rejected', async () => {
    await land({ a: '1', b: '1' })
    await sendAnd('unknown')
    runId = await ledger.startRun()
    await land({ a: null })
    await sendAnd('rejected')
    await land({ b: '2' })
    expect(await inputs()).toEqual({ a: null, b: '2' })
  })

  it.each<[string, (submission: number) => Promise<AsyncDisposable | null>]>([
    ['at another destination', sentElsewhere],
    ['for the company that its hotel was before', mappedSince],
  ])('a value of which nobody knows whether it was taken %s is not sent blank', async (_, move) => {
    await land({ wrong: '5', right: '1' })
    const submission = await send()
    await ledger.settleAll(submission, 'unknown')
    await sql`update submission set settled_at = clock_timestamp()`.execute(ledger.db)
    await using _moved = await move(submission)
    await sql`update acceptance set outcome = null, perhaps_taken_at = null`.execute(ledger.db)
    await land({ wrong: null })
    expect(await inputs()).toEqual({ right: '1' })
  })

  it('a value that was in flight while its hotel became another company is sent blank', async () => {
    await land({ a: '1', b: '1' })
    const submission = await send()
    await mappedSince(submission)
    await sql`update submission set settled_at = clock_timestamp()`.execute(ledger.db)
    await ledger.settleAll(submission, 'unknown')
    runId = await ledger.startRun()
    await land({ a: null })
    await sendAnd('rejected')
    await land({ b: '2' })
    expect(await inputs()).toEqual({ a: null, b: '2' })
  })

  it.each<[string, () => Promise<unknown>]>([
    [
      'is sent again',
      () =>
        sql`update acceptance set accepted_hash = null, outcome = null, outcome_code = 'sent_again'`.execute(ledger.db),
    ],
    [
      'was gone and is there again',
      async () => {
        await sql`update source_row set gone_at = clock_timestamp()`.execute(ledger.db)
        await land({ a: '1', b: '1' })
      },
    ],
  ])('a value that was accepted of a row that %s is sent blank, and one that came since is not', async (_, forget) => {
    await land({ a: '1', b: '1' })
    await sendAnd('confirmed')
    await forget()
    await land({ wrong: '5' })
    await sendAnd('rejected')
    await land({ a: null, wrong: null })
    expect(await inputs()).toEqual({ a: null, b: '1' })
    await land({ b: '2' })
    expect(await inputs()).toEqual({ a: null, b: '2' })
  })

  it('a destination that waits is sent blank what it accepted, unless the one in use rejects it', async () => {
    await sql`create schema elsewhere`.execute(ledger.db)
    await sql`create table elsewhere.acceptance (like nightferry.acceptance)`.execute(ledger.db)
    await sql`create table elsewhere.held_property (like nightferry.held_property)`.execute(ledger.db)
    await sql`insert into destination (name, schema_name, left_at) values ('elsewhere', 'elsewhere', now())`.execute(
      ledger.db,
    )
    try {
      await land({ a: '1', b: '1' })
      await sendAnd('confirmed')
      await sql`insert into elsewhere.acceptance select * from acceptance`.execute(ledger.db)
      await sql`update acceptance set accepted_hash = null, accepted_at = null, outcome = null`.execute(ledger.db)
      await land({ a: null })
      expect(await inputs()).toEqual({ a: null, b: '1' })
      await sendAnd('rejected')
      await land({ b: '1' })
      expect(await inputs()).toEqual({ b: '1' })
    } finally {
      await sql`delete from destination where name = 'elsewhere'`.execute(ledger.db)
      await sql`drop schema elsewhere cascade`.execute(ledger.db)
    }
  })
})

describe('a row that is gone after it was rejected', () => {
  const drift = async () => {
    await sql`update source_row set gone_at = clock_timestamp()`.execute(ledger.db)
    return (await sql<{ row_key: string }>`select row_key from drift`.execute(ledger.db)).rows
  }

  it.each(doubts)(
    'a row that is gone after it was rejected %s is listed as one that the service may hold',
    async (_, doubt) => {
      await land({ a: '1' })
      await rejectInDoubt(doubt)
      expect(await drift()).toEqual([{ row_key: 'H-1' }])
    },
  )

  it('a row that is gone after it was rejected for certain is not listed', async () => {
    await land({ a: '1' })
    await rejectInDoubt({})
    expect(await drift()).toEqual([])
  })
})

describe('an input whose name is spelt otherwise than before', () => {
  it.each([
    ['A', 'a'],
    ['a', 'A'],
  ])('an input named %s is the same when it comes as %s', async (before, after) => {
    await land({ [before]: '1', b: '1' })
    await sendAnd('confirmed')
    await land({ [after]: '1' })
    expect(await inputs()).toEqual({ [after]: '1', b: '1' })
    await land({ [before]: '2' })
    expect(await inputs()).toEqual({ [before]: '2', b: '1' })
    await land({ [after]: null })
    expect(await inputs()).toEqual({ [after]: null, b: '1' })
  })

  it('two names with a value each, which the partner has both, stay two', async () => {
    await land({ A: '1' }, { a: '2' })
    expect(await inputs()).toEqual({ A: '1', a: '2' })
    await land({ a: '3' })
    expect(await inputs()).toEqual({ A: '1', a: '3' })
    await land({ A: null })
    expect(await inputs()).toEqual({ a: '3' })
  })

  it('a row that holds the other spelling as a blank is rid of it', async () => {
    await land({ b: '1' })
    await sql`
      update source_row set content = jsonb_set(content, '{inputs}', '{"A": null, "a": "1", "b": "1"}')`.execute(
      ledger.db,
    )
    await land({ b: '1' })
    expect(await inputs()).toEqual({ a: '1', b: '1' })
  })
})
