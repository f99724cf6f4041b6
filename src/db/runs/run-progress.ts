import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { Run } from '../tables/run-tables.ts'
import type { SearchPage } from '../tables/service-tables.ts'
import { isEnded, type SubmissionState } from '../tables/submission-tables.ts'
import { isForDestination } from './newest-runs.ts'

/** A request of a run, and when what became of it; all times by the clock of the database. */
export type RequestTimes = {
  submission_id: number
  kind: string
  partition: string
  state: SubmissionState
  row_count: number
  correlation_id: string | null
  attempts: number
  repeats: number
  polls: number
  task_status: string | null
  payload_bytes: number | null
  error_code: string | null
  planned_at: Date
  attempted_at: Date | null
  accepted_at: Date | null
  terminal_at: Date | null
  settled_at: Date | null
  /** Of a search: its result files, and when the last of them was loaded. */
  pages: number
  page_bytes: number
  loaded_at: Date | null
}

type Timeline = {
  run: Pick<Run, 'run_id' | 'job' | 'trigger' | 'step' | 'verdict' | 'failure' | 'resumed' | 'started_at'> & {
    finished_at: Date
    destination: string
  }
  /** The steps that were done, with the one at which the run ended. */
  steps: StepTime[]
  /** The first of them, oldest first; `requests_in_all` says how many there are. */
  requests: RequestTimes[]
  requests_in_all: number
}

/**
 * When what was done in a run that has ended.
 * @param most so many requests are read, because a night that splits its requests can have thousands.
 */
export async function runTimeline(db: Database, runId: number, most: number): Promise<Timeline> {
  const { finished_at, ...run } = await db
    .selectFrom('run')
    .innerJoin('destination', 'destination.destination_id', 'run.destination_id')
    .select(['run_id', 'job', 'trigger', 'step', 'verdict', 'failure', 'resumed', 'started_at', 'finished_at'])
    .select('destination.name as destination')
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
  if (finished_at === null) throw new Error(`run ${runId} has not ended`)
  const done = await stepsDone(db, runId)
  const last = {
    run_id: runId,
    step: run.step,
    began_at: done.at(-1)?.ended_at ?? run.started_at,
    ended_at: finished_at,
  }
  const { rows } = await sql<RequestTimes & { in_all: number }>`
    select submission.submission_id, kind, partition, submission.state, row_count, correlation_id, attempts, repeats,
      polls,
           task_status, payload_bytes, submission.error_code, planned_at, attempted_at, accepted_at, terminal_at,
           settled_at, page.pages, page.page_bytes, page.loaded_at, submission.in_all
    from (
      select *, count(*) over () as in_all from submission where run_id = ${runId} order by submission_id limit ${most}
    ) submission
    cross join lateral (
      select count(*) as pages, coalesce(sum(bytes), 0)::float8 as page_bytes, max(loaded_at) as loaded_at
      from search_page where search_page.submission_id = submission.submission_id) page
    order by submission.submission_id`.execute(db)
  return {
    run: { ...run, finished_at },
    steps: [...done.filter(({ step }) => step !== run.step), last],
    requests: rows,
    requests_in_all: rows[0]?.in_all ?? 0,
  }
}

/** How long steps took, in milliseconds, in the order in which they were done. */
export type StepTime = { run_id: number; step: string; began_at: Date; ended_at: Date }

/** Notes that a step of a run is done: it began when the step before it ended. */
export async function noteStep(trx: Transaction<Schema>, runId: number, step: string): Promise<void> {
  await sql`
    insert into run_step (run_id, step, began_at, ended_at)
    select run_id, ${step}, coalesce((select max(ended_at) from run_step done where done.run_id = run.run_id),
      started_at),
           clock_timestamp()
    from run where run_id = ${runId}
    on conflict do nothing`.execute(trx)
}

/** The steps of a run that are done. */
export async function stepsDone(db: Database, runId: number): Promise<StepTime[]> {
  return await db.selectFrom('run_step').selectAll().where('run_id', '=', runId).orderBy('ended_at').execute()
}

/**
 * The steps of the last runs of a job for the destination in use that went to their end and did all that the job does,
 * newest first.
 */
export async function pastSteps(db: Database, job: string, runs: number): Promise<StepTime[]> {
  const { rows } = await sql<StepTime>`
    select run_id, step, began_at, ended_at
    from run_step join (
      select run_id from run
      where job = ${job} and verdict in ('succeeded', 'partial') and asked = '{}' and not held
        and ${isForDestination}
      order by run_id desc limit ${runs}) past using (run_id)
    order by run_id desc, ended_at`.execute(db)
  return rows
}

/** Runs of each job that are looked back on: a step that none of them did is not done any more. */
const runsBack = 50

/** How long the steps of each job took last for the destination in use. Milliseconds. */
export async function lastStepTimes(db: Database): Promise<{ job: string; step: string; ms: number }[]> {
  const { rows } = await sql<{ job: string; step: string; ms: number }>`
    select distinct on (job, run_step.step) job, run_step.step,
           (extract(epoch from ended_at - began_at) * 1000)::float8 as ms
    from (select distinct job from run) known
    cross join lateral (
      select run_id from run where run.job = known.job and state <> 'skipped' and ${isForDestination}
      order by scheduled_for desc limit ${runsBack}) newest
    join run_step using (run_id)
    order by job, run_step.step, run_id desc`.execute(db)
  return rows
}

/** Pages that are named one by one; the rest is counted. */
const named = 10

export type PageProgress = {
  pages: number
  loaded: number
  failed: number
  /** Of these, pages of the searches in `pull.searches`. */
  document_pages: number
  bytes: number
  /** Of the calculator search; of the other searches nothing is counted but pages and bytes. */
  companies: number
  /** Companies whose bytes were those of the last time. */
  unchanged: number
  /** Pages that were loaded with care. */
  careful: number
  /**
   * Failed pages first, then those that are tried again, then those that needed care. `search` is the name of one of
   * `pull.searches`, null of the calculator search; `page` counts from 1 within it.
   */
  remarkable: ({ search: string | null; page: number } & Pick<
    SearchPage,
    'state' | 'failures' | 'error_code' | 'error_message' | 'care'
  >)[]
}

/** How the pages of a run's searches get on, and which of them are worth a look; null while it has none. */
export async function pageProgress(db: Database, runId: number, searchKind: string): Promise<PageProgress | null> {
  const { rows } = await sql<Omit<PageProgress, 'remarkable'>>`
    select count(*) as pages,
           count(*) filter (where search_page.state = 'loaded') as loaded,
           count(*) filter (where search_page.state = 'failed') as failed,
           count(*) filter (where kind <> ${searchKind}) as document_pages,
           coalesce(sum(bytes), 0)::bigint as bytes,
           coalesce(sum(companies) filter (where kind = ${searchKind}), 0)::bigint as companies,
           coalesce(sum(unchanged) filter (where kind = ${searchKind}), 0)::bigint as unchanged,
           count(*) filter (where care is not null) as careful
    from search_page join submission using (submission_id)
    where run_id = ${runId} and submission.state <> 'abandoned'`.execute(db)
  const counted = rows[0]
  if (counted === undefined || counted.pages === 0) return null
  const { rows: remarkable } = await sql<PageProgress['remarkable'][number]>`
    select case when kind <> ${searchKind} then partition end as search, ordinal + 1 as page, search_page.state,
           search_page.failures, search_page.error_code, search_page.error_message, care
    from search_page join submission using (submission_id)
    where run_id = ${runId} and submission.state <> 'abandoned'
      and (search_page.state = 'failed' or (search_page.state = 'listed' and search_page.failures > 0)
        or care is not null)
    order by search_page.state = 'failed' desc, search_page.state = 'listed' desc, submission.submission_id, ordinal
    limit ${named}`.execute(db)
  return { ...counted, remarkable }
}

export type RunProgress = Run & {
  rows_read: number
  rows_planned: number
  rows_settled: number
  requests: number
  requests_settled: number
  /** Those of searches that were not given up. */
  pages: number
  pages_loaded: number
  pages_failed: number
}

/** Where a run stands, in one query. */
export async function runProgress(db: Database, runId: number): Promise<RunProgress> {
  const { rows } = await sql<RunProgress>`
    select run.*,
           (select coalesce(sum(read), 0)::bigint from run_stream where run_stream.run_id = run.run_id) as rows_read,
           coalesce(sum(row_count), 0)::bigint as rows_planned,
           coalesce(sum(row_count) filter (where ${isEnded}),
             0)::bigint as rows_settled,
           count(submission_id) as requests,
           count(submission_id) filter (where ${isEnded})
             as requests_settled,
           coalesce(sum(pages), 0)::bigint as pages,
           coalesce(sum(pages_loaded), 0)::bigint as pages_loaded,
           coalesce(sum(pages_failed), 0)::bigint as pages_failed
    from run
    left join submission using (run_id)
    left join lateral (
      select count(*) as pages, count(*) filter (where search_page.state = 'loaded') as pages_loaded,
             count(*) filter (where search_page.state = 'failed') as pages_failed
      from search_page
      where search_page.submission_id = submission.submission_id and submission.state <> 'abandoned'
    ) loaded on true
    where run_id = ${runId}
    group by run.run_id`.execute(db)
  const progress = rows[0]
  if (progress === undefined) throw new Error(`run ${runId} does not exist`)
  return progress
}
