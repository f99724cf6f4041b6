import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'
import { withCarriedRows } from './carried-rows.ts'

/** What became of a row, in words for people where there is something to say. */
export type RowOutcome =
  | { outcome: 'confirmed' | 'inferred' }
  | { outcome: 'rejected' | 'unknown'; code: string; reason: string }

/**
 * Carries the outcomes of a submission's rows into the ledger and releases the rows, in one pass.
 *
 * `accepted_hash` becomes what was sent, not what is wanted by now: a row that changed in flight stays pending.
 * When nobody knows whether new content was taken, nothing is accepted any more: a row that has changed back to what
 * was accepted before must be sent again all the same.
 * @param keepOut whether rejected content waits until it changes; false where the request as a whole was refused,
 *   which may be mended without the rows changing.
 * @param decide gives every row in the temporary table `carried_row` its outcome.
 */
export async function settleRows(
  trx: Transaction<Schema>,
  submissionId: number,
  keepOut: boolean,
  decide: () => Promise<void>,
): Promise<void> {
  await withCarriedRows(trx, submissionId, async () => {
    await decide()
    // What was sent is read again under the lock of its row: a mapping that was settled meanwhile may have denied it.
    await sql`
      with settled as (
        update submission_row kept
        set outcome = sent.outcome, code = sent.code, reason = sent.reason
        from carried_row sent
        where kept.submission_id = sent.submission_id and kept.row_id = sent.row_id
        returning kept.row_id, kept.sent_hash, kept.outcome, kept.code, kept.reason
      ),
      ${released(submissionId)}
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
      from (select * from settled order by row_id) sent
      join released using (row_id)
      where took.row_id = sent.row_id`.execute(trx)
  })
}

/** One outcome for every row that is carried. */
export async function sameOutcome(trx: Transaction<Schema>, said: RowOutcome): Promise<void> {
  const { code, reason } = 'code' in said ? said : { code: null, reason: null }
  await sql`update carried_row set outcome = ${said.outcome}, code = ${code}, reason = ${reason}`.execute(trx)
}

/** Releases the rows of a submission of which nothing has left: what is known of them stays as it is. */
export async function releaseUnsent(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await withCarriedRows(trx, submissionId, () =>
    sql`with ${released(submissionId)} select count(*) from released`.execute(trx),
  )
}

/** The rows that the submission held, and holds no longer; their properties are told to the planner. */
const released = (submissionId: number) => sql`
  released as (
    delete from held_row using carried_row sent
    where held_row.row_id = sent.row_id and held_row.submission_id = sent.submission_id
    returning held_row.row_id, held_row.partner_id
  ),
  ended as (
    insert into ended_property (run_id, partner_id)
    select submission.run_id, property.partner_id
    from submission, (select distinct partner_id from released) property
    where submission.submission_id = ${submissionId}
  )`
