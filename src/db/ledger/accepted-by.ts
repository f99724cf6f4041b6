import { type RawBuilder, sql } from 'kysely'

/**
 * The submission by which what is accepted of a row of the view `ledger` was accepted, and how certain that is, as a
 * table of one row for a lateral join: mostly that of its last outcome. Another where that is of a change which was
 * rejected and taken back since; none once that request is forgotten. Requests to other destinations do not count. The
 * views `differences` and `input_differences` say the same.
 */
export function acceptedBy(row: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select ${row}.outcome_submission as submission_id, ${row}.outcome
    where ${row}.outcome in ('confirmed', 'inferred')
    union all
    (
      select submission_id, coalesce(took.outcome, taker.rest_outcome)
      from submission_row took join submission taker using (submission_id) join run using (run_id)
      where coalesce(${row}.outcome not in ('confirmed', 'inferred'), true)
        and took.row_id = ${row}.row_id and took.sent_hash = ${row}.accepted_hash
        and coalesce(took.outcome, taker.rest_outcome) in ('confirmed', 'inferred')
        and run.destination_id = (
          select destination_id from submission last join run using (run_id)
          where last.submission_id = ${row}.outcome_submission)
      order by submission_id desc limit 1
    ))`
}
