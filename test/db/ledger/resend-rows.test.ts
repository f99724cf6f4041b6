import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import { markForResend, releaseResends, releaseRetries } from '../../../src/db/ledger/rows-again.ts'
import { type Ledger, openLedger } from './ledger.ts'

let ledger: Ledger
beforeAll(async () => {
  ledger = await openLedger()
})
beforeEach(() => ledger.clear())
afterAll(() => ledger.close())

const requires = { framework_answers: ['companies'], companies: ['properties'], properties: [], omissions: [] }

/** Of two hotels each has an accepted property, an answer and an omission that the service rejected. */
async function rejectedDependents(): Promise<void> {
  for (const partner_id of ['H-1', 'H-2']) {
    await ledger.landChecked('properties', [{ partner_id, content: {} }])
    for (const stream of ['framework_answers', 'omissions'] as const) {
      await ledger.landChecked(stream, [{ partner_id, row_key: `${stream} ${partner_id}`, content: {} }])
    }
  }
  await sql`
    update acceptance set accepted_hash = wanted_hash
    where row_id in (select row_id from source_row where stream = 'properties')`.execute(ledger.db)
  await sql`
    update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound'
    where accepted_hash is null`.execute(ledger.db)
}

type Filter = Parameters<typeof markForResend>[2]

async function resend(filter: Filter): Promise<number> {
  await mark(filter)
  return await releaseResends(ledger.db, requires)
}

async function mark(filter: Filter): Promise<void> {
  await ledger.inTransaction(async (trx) => {
    const actor = { user: 'somebody', host: 'here' }
    await markForResend(
      trx,
      await recordAction(trx, { verb: 'resend', actor, at: new Date(), rows: 0, asked: {} }),
      filter,
    )
  })
}

const rejected = async () => {
  const rows = await ledger.db
    .selectFrom('ledger')
    .select('row_key')
    .where('refused_hash', 'is not', null)
    .orderBy('row_key')
    .execute()
  return rows.map(({ row_key }) => row_key)
}

it('a resend tries again what was rejected of the rows that require a row which is sent again, also by way of others', async () => {
  await rejectedDependents()
  expect(await resend({ partnerId: 'H-1' })).toBe(1)
  expect(await rejected()).toEqual(['framework_answers H-2', 'omissions H-1', 'omissions H-2'])
  expect(await ledger.row('framework_answers', 'framework_answers H-1')).toMatchObject({
    outcome: null,
    outcome_code: 'tried_again',
    outcome_reason: 'what it requires of properties is sent again, so it is tried again',
  })
})

it('a resend lets it be known of a row that it tries again that the service may hold it', async () => {
  await rejectedDependents()
  await sql`update acceptance set perhaps_taken_at = clock_timestamp() where refused_hash is not null`.execute(
    ledger.db,
  )
  await resend({ partnerId: 'H-1' })
  expect(await ledger.row('framework_answers', 'framework_answers H-1')).toMatchObject({
    outcome_code: 'tried_again',
    perhaps_taken_at: expect.any(Date),
    refused_hash: null,
  })
})

it('a resend leaves rejected what requires nothing that is sent again', async () => {
  await rejectedDependents()
  expect(await releaseResends(ledger.db, requires)).toBe(0)
  expect(await rejected()).toHaveLength(4)
})

it('a resend that is asked for while a run releases what was asked for before waits for the next run', async () => {
  await rejectedDependents()
  expect(await releaseResends(ledger.db, requires)).toBe(0)
  await mark({ partnerId: 'H-1' })
  expect(await releaseRetries(ledger.db)).toBe(0)
  expect((await ledger.row('properties', 'H-1')).retry_action).not.toBeNull()
  expect(await releaseResends(ledger.db, requires)).toBe(1)
  expect(await ledger.row('properties', 'H-1')).toMatchObject({ accepted_hash: null, retry_action: null })
})

it.each<[string, object, boolean]>([
  ['is gone by then', { gone_at: new Date() }, false],
  ['is held by the guard by then', { guard_run: 1, guard_change: 'gone' }, true],
])('a resend of a row that %s forgets nothing, and leaves what requires it as it is', async (_, change, marked) => {
  await rejectedDependents()
  await mark({ stream: 'properties' })
  await changeProperty(change)
  expect(await releaseResends(ledger.db, requires), 'the other hotel').toBe(1)
  const row = await ledger.row('properties', 'H-1')
  expect({ pending: row.pending, marked: row.retry_action !== null }).toEqual({ pending: false, marked })
  expect(row.accepted_hash).not.toBeNull()
  expect(await rejected()).toEqual(['framework_answers H-1', 'omissions H-1', 'omissions H-2'])
})

it('a resend of a row that the guard held is made once the guard lets the row go', async () => {
  await rejectedDependents()
  await mark({ partnerId: 'H-1' })
  await changeProperty({ guard_run: 1, guard_change: 'gone' })
  expect(await releaseResends(ledger.db, requires)).toBe(0)
  expect(await releaseRetries(ledger.db)).toBe(0)
  await changeProperty({ guard_run: null, guard_change: null })
  expect(await releaseResends(ledger.db, requires)).toBe(1)
  expect(await ledger.row('properties', 'H-1')).toMatchObject({ pending: true, outcome_code: 'sent_again' })
})

async function changeProperty(change: object): Promise<void> {
  await ledger.db
    .updateTable('source_row')
    .set(change)
    .where('stream', '=', 'properties')
    .where('partner_id', '=', 'H-1')
    .execute()
}
