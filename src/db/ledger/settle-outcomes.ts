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
 * @param decide writes the outcomes of rows in `carried_row` into the temporary table `verdict`, and returns that of all
 *   others.
 */
export async function settleRows(
  trx: Transaction<Schema>,
  submissionId: number,
  keepOut: boolean,
  decide: () => Promise<RowOutcome>,
): Promise<void> {
  await withCarriedRows(trx, submissionId, async () => {
    await sql`
      create temp table verdict (row_id bigint, outcome text, code text, reason text) on commit drop`.execute(trx)
    const rest = await decide()
    const { code, reason } = 'code' in rest ? rest : { code: null, reason: null }
    // What was sent is read again under the lock of its row: a mapping that was settled meanwhile may have denied it.
    await sql`
      with settled as (
        update submission_row kept
        set outcome = sent.outcome, code = sent.code, reason = sent.reason
        from (
          select submission_id, row_id, held, coalesce(verdict.outcome, ${rest.outcome}) as outcome,
                 case when verdict.row_id is null then ${code} else verdict.code end as code,
                 case when verdict.row_id is null then ${reason} else verdict.reason end as reason
          from carried_row left join verdict using (row_id)
          -- Joined with each other first: of both the planner knows how many rows there are.
          offset 0
        ) sent
        where kept.submission_id = sent.submission_id and kept.row_id = sent.row_id
        returning kept.row_id, kept.sent_hash, kept.outcome, kept.code, kept.reason, sent.held
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
      -- Joined with one table, by its key: of two of these the planner knows nothing, and would nest them.
      from (select * from settled where held order by row_id) sent
      where took.row_id = sent.row_id`.execute(trx)
    await sql`drop table verdict`.execute(trx)
  })
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
    -- By their keys, not by a join: the planner may take the table for as empty as it is between two nights.
    delete from held_row where row_id = any(array(select row_id from carried_row where held)) returning partner_id
  ),
  ended as (
    insert into ended_submission (run_id, partner_ids)
    select submission.run_id, (select array_agg(distinct partner_id) from released)
    from submission
    where submission.submission_id = ${submissionId} and exists (select from released)
  )`
