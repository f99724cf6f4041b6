import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { heldAsGone } from '../guard/guard-plan.ts'
import { isConfigured, type Requires } from '../ledger/requirements.ts'
import { isAmongPending, type RowState, rowState } from '../ledger/row-state.ts'
import { isParkedAsSuspended } from '../ledger/suspended-hotels.ts'
import { isForDestination, isOfDestination, isWhole, otherDestination } from '../runs/newest-runs.ts'
import type { Run } from '../tables/run-tables.ts'

/** A run with the sums of its report; null where it has none. */
type Night = Pick<
  Run,
  'run_id' | 'job' | 'trigger' | 'state' | 'step' | 'verdict' | 'failure' | 'started_at' | 'finished_at'
> & {
  duration_ms: number | null
  read: number | null
  sent: number | null
  accepted: number | null
  rejected: number | null
  invalid: number | null
  parked: number | null
  remarks: number | null
  /** The name of the destination that it was for; null: the one in use. */
  destination: string | null
}

/**
 * The newest runs of some jobs that were not skipped, newest first, with what came of them.
 * @param which.before only runs with a smaller number.
 */
export async function listNights(
  db: Database,
  jobs: readonly string[],
  limit: number,
  { before = null }: { before?: number | null } = {},
): Promise<Night[]> {
  const { rows } = await sql<Night>`
    select run_id, job, trigger, state, step, verdict, failure, started_at, finished_at,
           (extract(epoch from finished_at - started_at) * 1000)::float8 as duration_ms,
           read, sent, accepted, rejected, invalid, parked, jsonb_array_length(report -> 'remarks') as remarks,
           destination
    from (
      select *, ${otherDestination} as destination from run
      where job = any(${jobs}::text[]) and state <> 'skipped' and (${before}::bigint is null or run_id < ${before})
      order by run_id desc limit ${limit}
    ) newest
    left join lateral (
      select sum((stream ->> 'read')::bigint)::bigint as read, sum((stream ->> 'sent')::bigint)::bigint as sent,
             sum((stream ->> 'confirmed')::bigint + (stream ->> 'inferred')::bigint)::bigint as accepted,
             sum((stream ->> 'rejected')::bigint)::bigint as rejected,
             sum((stream ->> 'invalid')::bigint)::bigint as invalid,
             sum((stream ->> 'parked')::bigint)::bigint as parked
      from jsonb_array_elements(report -> 'streams') stream
    ) summed on report is not null
    order by run_id desc`.execute(db)
  return rows
}

/** How long the newest runs for the destination in use that ended well or partly took, newest first. Milliseconds. */
export async function durationsOf(db: Database, job: string, limit: number): Promise<number[]> {
  const { rows } = await sql<{ duration_ms: number }>`
    select (extract(epoch from finished_at - started_at) * 1000)::float8 as duration_ms
    from run where job = ${job} and verdict in ('succeeded', 'partial') and finished_at is not null and not held
      and ${isWhole} and ${isForDestination}
    order by run_id desc limit ${limit}`.execute(db)
  return rows.map(({ duration_ms }) => duration_ms)
}

/**
 * How many rows are in one state, and of how many hotels. Parked rows of hotels that people have suspended are told
 * apart: they need nobody.
 */
type Need = { state: RowState | 'suspended'; rows: number; hotels: number }

/**
 * What is pending now, by state, with what the guard holds of accepted rows because it is gone at the partner; without
 * what no run sends, because its stream is not in the configuration.
 */
export async function needsOf(db: Database, requires: Requires): Promise<Need[]> {
  const { rows } = await sql<Need>`
    select state, count(*) as rows, count(distinct partner_id) as hotels
    from (
      (select row.partner_id, case when ${isParkedAsSuspended(sql`state`)} then 'suspended' else state end as state
       from ledger row cross join lateral (select ${rowState(requires)} as state offset 0) stated
       where ${isAmongPending()} offset 0)
      union all
      select partner_id, 'held' from ledger
      where row_id = any(${heldAsGone}) and not pending and gone_at is null and ${isConfigured(requires, sql`stream`)}
    ) stated
    where state not in ('accepted', 'gone', 'unconfigured')
    group by state order by rows desc, state limit 20`.execute(db)
  return rows
}

/** How a stream of a run that is under way gets on. */
type StreamStanding = {
  stream: string
  read: number
  changed: number
  pending: number | null
  extracted_at: Date
}

/** The streams that a run has read. */
export async function streamsOfRun(db: Database, runId: number, limit: number): Promise<StreamStanding[]> {
  const { rows } = await sql<StreamStanding>`
    select stream, read, changed, pending, extracted_at from run_stream
    where run_id = ${runId} order by extracted_at, stream limit ${limit}`.execute(db)
  return rows
}

/** Something that a run warned of: the event as the log names it, what it is about, and what was said. */
type RunWarning = { at: Date; event: string; about: string; words: string | null }

/** What a run warned of while it worked, the newest first. It stands in the rows that the log's lines are about. */
export async function runWarnings(db: Database, runId: number, limit: number): Promise<RunWarning[]> {
  const { rows } = await sql<RunWarning>`
    with request as (
      select *, format('request %s (%s)', submission_id, kind) as about,
             coalesce(settled_at, polled_at, attempted_at, planned_at) as at
      from submission where run_id = ${runId}
    )
    select at, event, about, words from (
      select at, 'submission_' || state as event, about, nullif(concat_ws(': ', error_code, error_message), '') as words
      from request where state in ('refused', 'lost', 'abandoned', 'uncertain')
      union all
      select failing_since, 'call_failed', about, format('%s times; last: %s', failures,
        concat_ws(': ', error_code, error_message))
      from request where failures > 0 and failing_since is not null
        and state not in ('refused', 'lost', 'abandoned', 'uncertain')
      union all
      select at, 'answer_lost', about, format('sent again %s times, because an answer was lost', repeats)
      from request where repeats > 0
      union all
      select overdue_since, 'task_overdue', about, 'the run ended without it' from request
        where overdue_since is not null
      union all
      select at, 'task_status_unknown', about, unknown_status from request where unknown_status is not null
      union all
      select coalesce(loaded_at, at), case when page.state = 'failed' then 'page_failed'
        else 'page_loaded_with_care' end,
             format('page %s of %s', ordinal + 1, about),
             nullif(concat_ws(': ', page.error_code, page.error_message, care), '')
      from request join search_page page using (submission_id)
      where page.state = 'failed' or page.failures > 0 or care is not null
      union all
      select extracted_at, 'rows_without_cursor', stream, format('%s rows have no cursor', null_cursor)
      from run_stream where run_id = ${runId} and null_cursor > 0
      union all
      select extracted_at, 'stream_read_whole', stream, coalesce(whole_detail, whole)
      from run_stream where run_id = ${runId} and whole in ('server', 'clock', 'newest_row')
    ) warned
    order by at desc nulls last, event, about limit ${limit}`.execute(db)
  return rows
}

/** A task of the service that one of our requests became. */
type ListedTask = {
  submission_id: number
  run_id: number
  kind: string
  state: string
  correlation_id: string | null
  task_status: string | null
  rows: number
  attempts: number
  error_code: string | null
  error_message: string | null
  attempted_at: Date | null
  settled_at: Date | null
  overdue_since: Date | null
}

/** The newest requests with their tasks, newest first; of one run, or of all for the destination in use. */
export async function newestTasks(db: Database, limit: number, runId: number | null = null): Promise<ListedTask[]> {
  const isListed = runId === null ? isOfDestination : sql`run_id = ${runId}`
  const { rows } = await sql<ListedTask>`
    select submission_id, run_id, kind, state, correlation_id, task_status, row_count as rows, attempts, error_code,
           error_message, attempted_at, settled_at, overdue_since
    from submission where ${isListed} order by submission_id desc limit ${limit}`.execute(db)
  return rows
}
