import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'
import { withCarriedRows } from './carried-rows.ts'

/** One outcome for every row of the submission. */
export async function sameOutcome(
  trx: Transaction<Schema>,
  submissionId: number,
  outcome: 'rejected' | 'unknown',
  code: string,
  reason: string,
): Promise<void> {
  await trx
    .updateTable('submission_row')
    .set({ outcome, code, reason })
    .where('submission_id', '=', submissionId)
    .execute()
}

/**
 * Carries the outcomes of a submission's rows into the ledger and releases the rows.
 *
 * `accepted_hash` becomes what was sent, not what is wanted by now: a row that changed in flight stays pending.
 * When nobody knows whether new content was taken, nothing is accepted any more: a row that has changed back to what
 * was accepted before must be sent again all the same.
 * @param keepOut whether rejected content waits until it changes; false where the request as a whole was refused,
 *   which may be mended without the rows changing.
 */
export async function applyOutcomes(trx: Transaction<Schema>, submissionId: number, keepOut: boolean): Promise<void> {
  const settle = sql`
    update acceptance took
    set accepted_hash = case when sent.outcome in ('confirmed', 'inferred') then sent.sent_hash
                             when sent.outcome = 'unknown' and sent.sent_hash <> took.accepted_hash then null
                             else took.accepted_hash end,
        accepted_at = case when sent.outcome in ('confirmed', 'inferred') then clock_timestamp() else took.accepted_at end,
        refused_hash = case when sent.outcome = 'rejected' and ${keepOut} then sent.sent_hash
                            when sent.outcome in ('confirmed', 'inferred') then null
                            else took.refused_hash end,
        outcome = sent.outcome,
        outcome_code = sent.code,
        outcome_reason = sent.reason,
        outcome_submission = ${submissionId},
        outcome_at = clock_timestamp()
    from carried_row sent
    where took.row_id = sent.row_id
      and exists (
        select from held_row where held_row.row_id = sent.row_id and held_row.submission_id = sent.submission_id)`
  await withCarriedRows(trx, submissionId, async () => {
    await settle.execute(trx)
    await release.execute(trx)
  })
}

const release = sql`
  delete from held_row using carried_row sent
  where held_row.row_id = sent.row_id and held_row.submission_id = sent.submission_id`

/** Releases the rows of a submission of which nothing has left: what is known of them stays as it is. */
export async function releaseUnsent(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await withCarriedRows(trx, submissionId, () => release.execute(trx))
}
