import { type Selectable, sql } from 'kysely'
import { askBoth, type Hurry } from '../ask-both.ts'
import type { Database } from '../database.ts'
import { type Requires, rowState } from '../ledger/row-state.ts'
import type { NotificationTable } from '../tables/job-tables.ts'
import type { Run } from '../tables/run-tables.ts'
import type { SubmissionState } from '../tables/submission.ts'

/**
 * The newest runs, newest first.
 * @param before only runs with a smaller number.
 */
export async function newestRuns(db: Database, limit: number, before?: number): Promise<Run[]> {
  const newest = db.selectFrom('run').selectAll().orderBy('run_id', 'desc').limit(limit)
  return await (before === undefined ? newest : newest.where('run_id', '<', before)).execute()
}

export async function runExists(db: Database, runId: number): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where('run_id', '=', runId).executeTakeFirst()) !== undefined
}

type StatusCounts = {
  stream: string
  rows: number
  accepted: number
  pending: number
  invalid: number
  parked: number
  rejected: number
  /** Nobody can say what became of them; the next run sends them again. */
  unknown: number
  in_flight: number
  /** Held by the guard until a person approves, also rows that are accepted and would get their tombstone. */
  held: number
  /** No longer at the partner; not counted among the rows. */
  gone: number
  oldest_pending: Date | null
}

/**
 * The ledger at a glance: how many rows of each stream are accepted, and where the others stand, as the verbs that list
 * them say.
 */
export async function statusCounts(db: Database, requires: Requires, hurry?: Hurry): Promise<StatusCounts[]> {
  // Most rows of a large ledger are accepted, and only counted, by an index; the state is asked of the others alone.
  const [counted, others] = await askBoth(db, countRows, async (same) => await countOthers(same, requires), hurry)
  const byStream = new Map(others.map((other) => [other.stream, other]))
  return counted.map(({ stream, rows, gone }) => {
    const other = byStream.get(stream) ?? { ...nothingElse, stream }
    const kept = rows - gone
    return { ...other, rows: kept, accepted: kept - other.pending, gone }
  })
}

const nothingElse: OtherCounts = {
  stream: '',
  pending: 0,
  invalid: 0,
  parked: 0,
  rejected: 0,
  unknown: 0,
  in_flight: 0,
  held: 0,
  oldest_pending: null,
}

async function countRows(db: Database): Promise<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>[]> {
  const { rows } = await sql<Pick<StatusCounts, 'stream' | 'rows' | 'gone'>>`
    select stream, rows, coalesce(gone, 0) as gone
    from (select stream, count(*) as rows from source_row group by stream) counted
    left join (
      select stream, count(*) as gone from source_row where gone_at is not null group by stream
    ) left_out using (stream)
    order by stream`.execute(db)
  return rows
}

type OtherCounts = Omit<StatusCounts, 'rows' | 'accepted' | 'gone'>

async function countOthers(db: Database, requires: Requires): Promise<OtherCounts[]> {
  const { rows } = await sql<OtherCounts>`
    select stream,
           count(*) filter (where differs) as pending,
           count(*) filter (where state = 'invalid') as invalid,
           count(*) filter (where state = 'parked') as parked,
           count(*) filter (where state = 'rejected') as rejected,
           count(*) filter (where state = 'unknown') as unknown,
           count(*) filter (where held_by is not null and state <> 'parked') as in_flight,
           count(*) filter (where state = 'held' or (state = 'accepted' and guard_change = 'gone')) as held,
           min(changed_at) filter (where differs) as oldest_pending
    from ledger row
    cross join lateral (select row.pending and gone_at is null as differs) differing
    -- Not merged into each count, which would find out the state once for each.
    cross join lateral (select ${rowState(requires)} as state offset 0) stated
    where row.row_id = any(
      array(select row_id from acceptance where accepted_hash is distinct from wanted_hash)
      || array(select row_id from submission_row where submission_id in (select submission_id from held_property))
      || array(select row_id from source_row where guard_run is not null))
    group by stream`.execute(db)
  return rows
}

/** How a search went when it was made last. */
type NewestSearch = {
  kind: string
  /** The name of its entry in `pull.searches`; empty for the calculator search. */
  name: string
  submission_id: number
  run_id: number
  state: SubmissionState
  correlation_id: string | null
  task_status: string | null
  error_code: string | null
  planned_at: Date
  settled_at: Date | null
  pages: number
  loaded_pages: number
  failed_pages: number
  companies: number
  calculators: number
  documents: number
  bytes: number
  /** Why what it did not return was not removed; null if it was, or if nothing was absent. */
  withheld: string | null
}

/** Runs that are looked back on: a search that was not made in them is not made any more. */
const runsBack = 1_000

/** Of each search that was made at the destination in use, the newest request, with what its pages brought. */
export async function newestSearches(db: Database, kinds: readonly string[]): Promise<NewestSearch[]> {
  const { rows } = await sql<NewestSearch>`
    with newest as (
      select distinct on (kind, partition) *
      from submission
      where kind = any(${kinds}::text[]) and run_id > (select coalesce(max(run_id), 0) - ${runsBack} from run)
        and exists (
          select from run
          where run.run_id = submission.run_id and run.destination_id = destination_in_use()
        )
      order by kind, partition, submission_id desc
    )
    select kind, partition as name, submission_id, run_id, newest.state, correlation_id, task_status, newest.error_code,
           planned_at, settled_at, count(page_id) as pages,
           count(page_id) filter (where search_page.state = 'loaded') as loaded_pages,
           count(page_id) filter (where search_page.state = 'failed') as failed_pages,
           coalesce(sum(companies), 0)::bigint as companies, coalesce(sum(calculators), 0)::bigint as calculators,
           coalesce(sum(documents), 0)::bigint as documents, coalesce(sum(bytes), 0)::bigint as bytes,
           search_result ->> 'reason' as withheld
    from newest left join search_page using (submission_id)
    group by kind, partition, submission_id, run_id, newest.state, correlation_id, task_status, newest.error_code,
             planned_at, settled_at, search_result
    order by kind, partition`.execute(db)
  return rows
}

/** A row that the service has, or may have, and the partner has no longer. */
type DriftRow = {
  stream: string
  partner_id: string
  row_key: string
  content: Record<string, unknown>
  accepted_at: Date | null
  outcome: string | null
  gone_since: Date
}

/** What is at the service and no longer at the partner, newest first. */
export async function driftRows(db: Database, stream: string | null, limit: number): Promise<DriftRow[]> {
  const { rows } = await sql<DriftRow>`
    select * from drift
    where ${stream}::text is null or stream = ${stream}
    order by gone_since desc, stream, row_key
    limit ${limit}`.execute(db)
  return rows
}

type LatestRun = Pick<Run, 'run_id' | 'job' | 'trigger' | 'state' | 'step' | 'verdict' | 'started_at' | 'finished_at'>

/** The newest run of each job, skipped ones aside. */
export async function latestRuns(db: Database): Promise<LatestRun[]> {
  const { rows } = await sql<LatestRun>`
    select distinct on (job) run_id, job, trigger, state, step, verdict, started_at, finished_at
    from run where state <> 'skipped'
    order by job, run_id desc`.execute(db)
  return rows
}

/** The newest of what people were or are to be told, newest first. */
export async function newestNotifications(db: Database, limit: number): Promise<Selectable<NotificationTable>[]> {
  return await db.selectFrom('notification').selectAll().orderBy('notification_id', 'desc').limit(limit).execute()
}

/**
 * When the oldest change was seen that the service has not accepted, whatever it waits for; null: all are accepted.
 * Looks only at rows that are pending, by their index: as an array, which the planner takes for short. It takes nearly
 * every row for pending, and a join would read all of a large ledger.
 */
export async function oldestUnaccepted(db: Database): Promise<Date | null> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select min(changed_at) as oldest from source_row
    where gone_at is null
      and row_id = any(array(select row_id from acceptance where accepted_hash is distinct from wanted_hash))`.execute(
    db,
  )
  return rows[0]?.oldest ?? null
}
