import { sql } from 'kysely'
import { beforeEach, expect, it, vi } from 'vitest'
import { streamNames } from '../../../src/config/known-names.ts'
import { recordAction } from '../../../src/db/actions/record-action.ts'
import { markForResend } from '../../../src/db/ledger/rows-again.ts'
import { markForRetry } from '../../../src/db/ledger/rows-to-retry.ts'
import { resendAccepted, retryRejected } from '../../../src/pipeline/actions/act-on-rows.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { patience } from '../../helpers/patience.ts'
import { openLedger } from './ledger.ts'

const actor = { user: 'anna', host: 'ferry1' }
const guard = { minRows: 100, maxChangedShare: 1, maxGoneShare: 1 } as Parameters<typeof resendAccepted>[1]['guard']

const ledger = await ofThisFile(openLedger())
beforeEach(async () => {
  await ledger.clear()
  await ledger.landChecked(
    'properties',
    [
      { partner_id: 'H-1', content: {} },
      { partner_id: 'H-2', content: {} },
    ],
    true,
  )
  await ledger.landChecked('properties', [
    { partner_id: 'H-3', content: {} },
    { partner_id: 'H-4', content: {} },
  ])
  await sql`update acceptance set refused_hash = wanted_hash, outcome = 'rejected', outcome_code = 'NotFound'
    where accepted_hash is null`.execute(ledger.db)
})

/** Marks in a transaction that ends only when a second one, begun after it, waits for it. */
async function markedFirst<T>(mark: typeof markForRetry, second: () => Promise<T>): Promise<T> {
  let asked: Promise<T> | undefined
  await ledger.inTransaction(async (trx) => {
    await mark(trx, await recordAction(trx, { verb: 'retry', actor, at: new Date(), rows: 2 }), streamNames, {
      stream: 'properties',
    })
    asked = second()
    await vi.waitFor(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(ledger.db)
      expect(rows).toHaveLength(1)
    }, patience)
  })
  return (await asked) as T
}

const markAllSent: typeof markForRetry = (...asked) => markForResend(...asked)

const actions = async () => await ledger.db.selectFrom('action').select(['verb', 'rows']).orderBy('action_id').execute()

it('a retry that waits for another one marks none of the rows that the other marked, and records nothing', async () => {
  const counts = await markedFirst(markForRetry, () =>
    retryRejected({ db: ledger.db, now: () => new Date() }, streamNames, {}, actor),
  )
  expect(counts).toEqual([])
  expect(await actions()).toEqual([{ verb: 'retry', rows: 2 }])
})

const resend = () =>
  resendAccepted(ledger.db, {
    filter: {},
    carried: streamNames,
    guard,
    beyondGuard: false,
    actor,
    at: new Date(),
    asked: {},
  })

it('a resend that waits for another one marks none of the rows that the other marked, and records nothing', async () => {
  expect(await markedFirst(markAllSent, resend)).toMatchObject({ total: 0, streams: [] })
  expect(await actions()).toEqual([{ verb: 'retry', rows: 2 }])
})

it('a resend that waits for another one marks no row that stood under a retry before both', async () => {
  await retryRejected({ db: ledger.db, now: () => new Date() }, streamNames, {}, actor)
  await sql`update acceptance set accepted_hash = '\\x01'`.execute(ledger.db)
  expect(await markedFirst(markAllSent, resend)).toMatchObject({ total: 0, streams: [] })
})

it('a resend tells how many of the rows that it marked have changed since they were accepted', async () => {
  await sql`update acceptance set accepted_hash = '\\x01' where partner_id in ('H-2', 'H-3')`.execute(ledger.db)
  expect(await resend()).toMatchObject({ total: 3, changed: 2, streams: [{ rows: 3, changed: 2, known: 4 }] })
})

it('a resend records and tells as many rows as it marked', async () => {
  expect(await resend()).toMatchObject({ total: 2, streams: [{ stream: 'properties', rows: 2, known: 4 }] })
  expect(await actions()).toEqual([{ verb: 'resend', rows: 2 }])
  expect(await resend()).toMatchObject({ total: 0, streams: [] })
})
