import { type Selectable, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { NotificationTable, Run } from '../tables/run-tables.ts'
import type { SubmissionState } from '../tables/submission-tables.ts'
import { besideOthers } from './run-life.ts'

/** Whether a run was to do all of its job: only then its end says how the job stands. */
export const isWhole = sql<boolean>`not asked ?| array['only', 'streams']`

/** The same of a run that was read. */
export function isPart({ asked }: Pick<Run, 'asked'>): boolean {
  return asked.only !== undefined || asked.streams !== undefined
}

/**
 * Whether a run that finished carried the data through: the guard did not stop it, and the service took of what there
 * was to send, and gave of what there was to load. Runs before this was kept count unless they were held.
 */
export const hasCarried = sql<boolean>`(not held and carried is not false)`

/** The same of a run that was read. */
export function carriedThrough({ held, carried }: Pick<Run, 'held' | 'carried'>): boolean {
  return !held && carried !== false
}

/** Whether a run worked for the destination in use: what others did says nothing of what that one has taken. */
export const isForDestination = sql<boolean>`run.destination_id = (select destination_in_use())`

/** Whether a request is one of a run for the destination in use. */
export const isOfDestination = sql<boolean>`exists (
  select from run where run.run_id = submission.run_id and ${isForDestination}
)`

/** The name of the destination that a run was for; null: the one in use. */
export const otherDestination = sql<string | null>`(
  select name from destination where destination.destination_id = run.destination_id and schema_name is not null
)`

/** @property destination the name of the one that the run was for; null: the one in use. */
type ListedRun = Run & { destination: string | null }

const besideReport = [
  ...(['run_id', 'job', 'trigger', 'scheduled_for', 'state', 'step', 'verdict', 'failure', 'resumed'] as const),
  ...(['asked', 'asked_by', 'held', 'carried', 'destination_id', 'own_database', 'unknown_tasks'] as const),
  ...(['tasks_checked_under', 'started_at', 'finished_at'] as const),
] as const satisfies readonly (keyof Run)[]

const wholeReport = sql<object | null>`report`
const remarksAlone = sql<object | null>`
  case when report is not null then jsonb_build_object('remarks', coalesce(report -> 'remarks', '[]')) end`

type Which = {
  before?: number | undefined
  job?: string | readonly string[]
  whole?: boolean
  here?: boolean
  reports?: 'remarks' | 'whole'
}

/**
 * The newest runs, newest first.
 * @param which.before only runs with a smaller number.
 * @param which.job only runs of this job, or of one of these.
 * @param which.whole only runs that were to do all of their job, and no occurrence that was skipped.
 * @param which.here only runs for the destination in use.
 * @param which.reports of each report all, or only what it remarks: many are more than memory holds.
 */
export async function newestRuns(
  db: Database,
  limit: number,
  { before, job, whole = false, here = false, reports = 'remarks' }: Which = {},
): Promise<ListedRun[]> {
  return await db
    .selectFrom('run')
    .select(besideReport)
    .select([(reports === 'whole' ? wholeReport : remarksAlone).as('report'), otherDestination.as('destination')])
    .$if(before !== undefined, (newest) => newest.where('run_id', '<', before ?? 0))
    .$if(job !== undefined, (newest) => newest.where('job', 'in', [job ?? []].flat()))
    .$if(whole, (newest) => newest.where('state', '<>', 'skipped').where(isWhole))
    .$if(here, (newest) => newest.where(isForDestination))
    .orderBy('run_id', 'desc')
    .limit(limit)
    .execute()
}

/**
 * The newest run that worked with the ledger for the destination in use: housekeeping does not, and an occurrence that
 * was skipped is no run.
 */
export async function newestOnLedger(db: Database): Promise<Run | undefined> {
  return await db
    .selectFrom('run')
    .selectAll()
    .where('job', '<>', besideOthers)
    .where('state', '<>', 'skipped')
    .where(isForDestination)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/**
 * The newest run for the destination in use that has ended, well or not.
 * @param job of this job; null: of any that works with the ledger.
 */
export async function newestEnded(db: Database, job: string | null): Promise<Run | undefined> {
  return await db
    .selectFrom('run')
    .selectAll()
    .where('state', 'in', ['finished', 'failed'])
    .where('job', job === null ? '<>' : '=', job ?? besideOthers)
    .where(isForDestination)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** A run for a destination that is not in use, and the name of that. */
export type RunElsewhere = { run_id: number; destination: string }

/**
 * The newest run that worked with the ledger for another destination: what to name where the one in use has none.
 * @param job only of this job; null: of any.
 */
export async function newestElsewhere(db: Database, job: string | null = null): Promise<RunElsewhere | null> {
  const { rows } = await sql<RunElsewhere>`
    select run_id, ${otherDestination} as destination from run
    where job <> ${besideOthers} and state <> 'skipped' and (${job}::text is null or job = ${job})
      and not ${isForDestination}
    order by run_id desc limit 1`.execute(db)
  return rows[0] ?? null
}

export async function runExists(db: Database, runId: number): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where('run_id', '=', runId).executeTakeFirst()) !== undefined
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

/** Of each search that was made at the destination in use, the newest request, with what its pages brought. */
export async function newestSearches(db: Database, kinds: readonly string[]): Promise<NewestSearch[]> {
  const { rows } = await sql<NewestSearch>`
    with newest as (
      select distinct on (kind, partition) *
      from submission
      where kind = any(${kinds}::text[]) and ${isOfDestination}
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

/** A search, and when the newest one that brought its pages was planned, or the first one, if none did. */
type SearchBrought = { kind: string; name: string; planned_at: Date }

/**
 * How old what each kind of search brought at the destination in use is. One that was never made is left out.
 * @param leastShare the part of its pages that has to have been loaded.
 * @param aheadMs so far ahead of now a search may have been planned; further ahead it was by a wrong clock.
 */
export async function searchesBrought(
  db: Database,
  searches: readonly { kind: string; name: string }[],
  { leastShare, aheadMs }: { leastShare: number; aheadMs: number },
): Promise<SearchBrought[]> {
  const { rows } = await sql<SearchBrought>`
    select kind, name, coalesce(newest.planned_at, first.planned_at) as planned_at
    from jsonb_to_recordset(${JSON.stringify(searches)}) as search (kind text, name text)
    left join lateral (
      select planned_at from submission
      where submission.kind = search.kind and partition = name and state = 'settled' and error_code is null
        and planned_at < clock_timestamp() + ${aheadMs} * interval '1 millisecond' and ${isOfDestination}
        and (select count(*) filter (where search_page.state = 'loaded') >= count(*) * ${leastShare}::float8
             from search_page where search_page.submission_id = submission.submission_id)
      order by submission_id desc limit 1
    ) newest on true
    left join lateral (
      select planned_at from submission
      where submission.kind = search.kind and partition = name and state <> 'abandoned' and ${isOfDestination}
      order by submission_id limit 1
    ) first on true
    where coalesce(newest.planned_at, first.planned_at) is not null`.execute(db)
  return rows
}

type LatestRun = Pick<
  ListedRun,
  'run_id' | 'job' | 'trigger' | 'state' | 'step' | 'verdict' | 'started_at' | 'finished_at' | 'destination'
>

/** The newest run of each job, skipped ones aside: that it began is true whatever destination it was for. */
export async function latestRuns(db: Database): Promise<LatestRun[]> {
  const { rows } = await sql<LatestRun>`
    select run_id, job, trigger, state, step, verdict, started_at, finished_at, ${otherDestination} as destination
    from (
      select distinct on (job) run_id, job, trigger, state, step, verdict, started_at, finished_at, destination_id
      from run where state <> 'skipped'
      order by job, run_id desc
    ) run
    order by job`.execute(db)
  return rows
}

/** The newest of what people were or are to be told, newest first. */
export async function newestNotifications(db: Database, limit: number): Promise<Selectable<NotificationTable>[]> {
  return await db.selectFrom('notification').selectAll().orderBy('notification_id', 'desc').limit(limit).execute()
}
