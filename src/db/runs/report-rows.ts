import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { heldAsGone } from '../guard/guard-plan.ts'
import { isConfigured, type Requires } from '../ledger/requirements.ts'
import { lacksRequirement } from '../ledger/row-state.ts'
import { codeTold, outcomeTold } from '../ledger/settle-outcomes.ts'
import { isSuspended } from '../ledger/suspended-hotels.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { CursorProtection, ProtectionLack, WholeReason } from '../tables/run-tables.ts'

/** What became of a stream's rows in one run; see docs/glossary.md for the words. */
export type StreamReport = {
  stream: string
  read: number
  folded: number
  unchanged: number
  changed: number
  null_cursor: number
  /** Null: the run did not read the stream, and sent rows of it. */
  capture: 'cursor' | 'snapshot' | null
  protection: CursorProtection | null
  /** Why only the overlap protects, where the partner's server could show its transactions and does not. */
  lacks: ProtectionLack | null
  /** Why all of the stream was read and compared, and what was found; null where it was read from its watermark. */
  whole: WholeReason | null
  whole_detail: string | null
  /** Hotels whose rows contradicted each other, and were all read again. */
  hotels_asked: number
  /** Ledger rows that the partner has no longer, found by this run, and those that are there again. */
  gone: number
  returned: number
  pending: number
  invalid: number
  /** Of these, rows of suspended hotels. Reports of before it was counted lack it. */
  invalid_suspended?: number
  parked: number
  /** Of the parked: those of suspended hotels. Reports of before it was counted lack it. */
  suspended?: number
  /** Refused in an earlier run and unchanged since: not sent again. */
  withheld: number
  /** Held by the guard: not sent until a person approves. */
  held: number
  /**
   * Accepted, and held by the guard: what would get its tombstone, and is not pending. Reports of before it was counted
   * lack it.
   */
  held_gone?: number
  /**
   * Not sent, because a task that has not ended carries rows of the same property, or of another that is its company.
   */
  behind: number
  /**
   * Of a run that was asked for without the step push: pending, and not invalid, rejected or held. And pending of a
   * stream that left the configuration while the run was under way. Reports of before they were counted lack both.
   */
  unsent?: number
  unconfigured?: number
  sent: number
  confirmed: number
  inferred: number
  rejected: number
  /** Of these, rows that `push.retries` sent again as they were. Reports of before they were counted lack it. */
  rejected_again?: number
  unknown: number
  /** Sent, and in flight with a task that has not ended within exchange.taskPatienceMs. */
  awaited: number
}

/**
 * Counts of one run, stream by stream. `pending` was counted after the extraction, the rest is counted now and from
 * other tables, so that the sums prove something. A row that travelled twice, because it had changed since an earlier
 * run sent it, counts once, with its last outcome; and if what it changed to was not sent, as what kept it from being.
 * Of a stream that the run did not read (one that was to send alone, or took over what another had sent), what it sent
 * is all that was pending for it. Without preflight nothing was counted, and what is pending now is told.
 * @param sends whether the run was to send rows.
 */
export async function streamReports(
  trx: Transaction<Schema>,
  runId: number,
  requires: Requires,
  sends = true,
): Promise<StreamReport[]> {
  await noteToldRows(trx, runId)
  const { rows } = await sql<StreamReport>`
    with
    -- What an adopted submission carried of a row that has changed since says nothing about what is wanted now; nor
    -- does an outcome that was forgotten since, because the row is to be sent again.
    judged as (
      select row.row_id, row.stream, row.partner_id, row.pending, row.desired_hash, row.refused_hash,
        row.resent_hash, row.invalid_reason,
             row.guard_run, told.outcome as sent_outcome,
             was_sent and (not row.pending or told.sent_hash is not distinct from row.desired_hash
               and (row.outcome is not null or row.held_by is not null)) as covered
      from told_row told join ledger row using (row_id)
      where row.gone_at is null
    ),
    sent as (
      select stream,
             count(*) as sent,
             count(*) filter (where sent_outcome = 'confirmed') as confirmed,
             count(*) filter (where sent_outcome = 'inferred') as inferred,
             count(*) filter (where sent_outcome = 'rejected') as rejected,
             count(*) filter (where sent_outcome = 'rejected' and resent_hash = desired_hash) as rejected_again,
             count(*) filter (where sent_outcome = 'unknown') as unknown,
             count(*) filter (where sent_outcome is null) as awaited
      from judged where covered group by stream
    ),
    -- Properties of which a task that no run waits for carries rows, and others that are the same company.
    overdue as (
      select source_row.partner_id
      from submission join submission_row using (submission_id) join source_row using (row_id)
      where submission.run_id = ${runId} and overdue_since is not null
    ),
    taken as (
      select partner_id from overdue
      union
      select twin.partner_id
      from overdue join mapping using (partner_id) join mapping twin on twin.company_id = mapping.company_id
    ),
    -- A row with a mark of its own is held by the guard; of one without, what it waits for comes first.
    waiting as materialized (
      select stream, suspended, case
        when not ${isConfigured(requires)} then 'unconfigured'
        when invalid_reason is not null then 'invalid'
        when refused_hash = desired_hash then 'withheld'
        when guard_run is not null then 'held'
        when suspended or ${lacksRequirement(requires)} then case when ${sends} then 'parked' else 'unsent' end
        when (select held from run where run_id = ${runId}) then 'held'
        when not ${sends} then 'unsent'
        when partner_id in (select partner_id from taken) then 'behind' end as state
      from judged row cross join lateral (select ${isSuspended()} as suspended offset 0) asked
      where pending and not covered
    ),
    kept as (
      select stream,
             count(*) as waiting,
             count(*) filter (where state = 'invalid') as invalid,
             count(*) filter (where state = 'invalid' and suspended) as invalid_suspended,
             count(*) filter (where state = 'withheld') as withheld,
             count(*) filter (where state = 'parked') as parked,
             count(*) filter (where state = 'parked' and suspended) as suspended,
             count(*) filter (where state = 'held') as held,
             count(*) filter (where state = 'behind') as behind,
             count(*) filter (where state = 'unsent') as unsent,
             count(*) filter (where state = 'unconfigured') as unconfigured
      from waiting group by stream
    ),
    missing as (
      select stream, count(*) as held_gone
      from ledger row
      where row_id = any(${heldAsGone}) and not pending and gone_at is null and ${isConfigured(requires)}
      group by stream
    ),
    told_stream as (
      select stream, read, folded, unchanged, changed, null_cursor, capture, protection, lacks, whole, whole_detail,
             hotels_asked, gone, returned, pending, extracted_at
      from run_stream where run_id = ${runId}
      union all
      select stream, 0, 0, 0, 0, 0, null, null, null, null, null, 0, 0, 0, sent, null
      from sent where stream not in (select stream from run_stream where run_id = ${runId})
    )
    select told_stream.stream, read, folded, unchanged, changed, null_cursor, capture, protection, lacks, whole,
           whole_detail, hotels_asked, gone, returned,
           coalesce(pending, coalesce(waiting, 0) + coalesce(sent, 0)) as pending, coalesce(held, 0) as held,
           coalesce(held_gone, 0) as held_gone,
           coalesce(invalid, 0) as invalid, coalesce(invalid_suspended, 0) as invalid_suspended,
           coalesce(parked, 0) as parked, coalesce(suspended, 0) as suspended,
           coalesce(withheld, 0) as withheld,
           coalesce(sent, 0) as sent, coalesce(confirmed, 0) as confirmed, coalesce(inferred, 0) as inferred,
           coalesce(rejected, 0) as rejected, coalesce(rejected_again, 0) as rejected_again,
           coalesce(unknown, 0) as unknown, coalesce(behind, 0) as behind, coalesce(unsent, 0) as unsent,
           coalesce(unconfigured, 0) as unconfigured, coalesce(awaited, 0) as awaited
    from told_stream
    left join sent using (stream)
    left join kept on kept.stream = told_stream.stream and extracted_at is not null
    left join missing on missing.stream = told_stream.stream and extracted_at is not null
    order by extracted_at, told_stream.stream`.execute(trx)
  return rows
}

/**
 * Lays what the run sent and what is pending together in a table of its own, told_row, and has the planner look at it:
 * in one statement with the rest it would take them for few.
 */
async function noteToldRows(trx: Transaction<Schema>, runId: number): Promise<void> {
  await sql`
    create temporary table told_row on commit drop as
    with last_sent as (
      select distinct on (row_id) row_id, outcome,
             case when attempted_at is not null or outcome is not null then sent_hash end as sent_hash
      from (
        select row_id, submission_id, state, attempted_at, sent_hash, ${outcomeTold('carried', 'submission')} as outcome
        from submission join submission_row carried using (submission_id)
        where submission.run_id = ${runId}
      ) carried
      -- What a person gave up was sent, and has its outcome; what a later run gave up was not.
      where state <> 'abandoned' or outcome is not null
      order by row_id, submission_id desc
    )
    select row_id, bool_or(was_sent) as was_sent, min(outcome) as outcome,
           (array_agg(sent_hash) filter (where was_sent))[1] as sent_hash
    from (
      select row_id, true as was_sent, outcome, sent_hash from last_sent
      union all
      select row_id, false, null, null from ledger where pending and gone_at is null
    ) named
    group by row_id`.execute(trx)
  await sql`analyze told_row`.execute(trx)
}

export type SubmissionReport = {
  submission_id: number
  kind: string
  partition: string
  state: string
  correlation_id: string | null
  task_status: string | null
  rows: number
  confirmed: number
  inferred: number
  rejected: number
  unknown: number
  attempts: number
  repeats: number
  /** What the service said that matches no row of the request: how much, and the first of it. */
  unmatched: number
  unmatched_examples: Readonly<Record<string, string | number>>[]
  /** The request that this one is a part of, and the first one that was split to come to it. */
  parent_id: number | null
  root_id: number | null
  /** Rows that the service failed over although they were sent alone. */
  failed_alone: number
  /** Since when the run no longer waits for it. */
  overdue_since: Date | null
  /** The first status of its task that the contract does not name. */
  unknown_status: string | null
  /**
   * What came of judging a refusal that may be over one of many rows, and the service's words; null: there was none.
   */
  refusal_verdict: string | null
  refusal_reason: string | null
  planned_at: Date
  attempted_at: Date | null
  accepted_at: Date | null
  terminal_at: Date | null
  settled_at: Date | null
  error_code: string | null
  error_message: string | null
}

/**
 * The submissions of a run with what became of their rows, in the order in which they were planned.
 * @param only this one of them; null: all.
 */
export async function submissionReports(
  db: Database,
  runId: number,
  only: number | null = null,
): Promise<SubmissionReport[]> {
  const { rows } = await sql<SubmissionReport>`
    select submission_id, kind, partition, state, correlation_id, task_status, row_count as rows,
           coalesce(confirmed, 0) as confirmed, coalesce(inferred, 0) as inferred,
           coalesce(rejected, 0) as rejected, coalesce(unknown, 0) as unknown,
           attempts, repeats, unmatched_count as unmatched,
           coalesce(jsonb_path_query_array(unmatched, '$[0 to 2]'), '[]') as unmatched_examples,
           parent_id, root_id, coalesce(failed_alone, 0) as failed_alone,
           overdue_since, unknown_status,
           refusal ->> 'verdict' as refusal_verdict, refusal ->> 'reason' as refusal_reason,
           planned_at, attempted_at, accepted_at, terminal_at, settled_at, error_code, error_message
    from submission
    left join lateral (
      select count(*) filter (where told.outcome = 'confirmed') as confirmed,
             count(*) filter (where told.outcome = 'inferred') as inferred,
             count(*) filter (where told.outcome = 'rejected') as rejected,
             count(*) filter (where told.outcome = 'unknown') as unknown,
             count(*) filter (where told.code = 'task_error_alone' or refusal ->> 'verdict' = 'alone') as failed_alone
      from (
        select ${outcomeTold('carried', 'submission')} as outcome,
               ${codeTold('carried', 'submission')} as code
        from submission_row carried where carried.submission_id = submission.submission_id
      ) told
    ) outcomes on true
    where run_id = ${runId} and (${only}::bigint is null or submission_id = ${only})
    order by submission_id`.execute(db)
  return rows
}
