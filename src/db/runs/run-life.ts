import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { Run, RunAsked, RunFailure, RunTrigger, Verdict } from '../tables/run-tables.ts'
import { isUnfinished } from '../tables/submission-tables.ts'

/** Whether two runs of a job are to do the same, in whatever order steps and streams were named. Pure. */
export function isAskedAlike(one: RunAsked, other: RunAsked): boolean {
  const sorted = ({ only, streams, since }: RunAsked) => [
    only === undefined ? null : [...new Set(only)].sort(),
    streams === undefined ? null : [...new Set(streams)].sort(),
    since ?? null,
  ]
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

/** The verb that goes on with a run, asked for as the run was: `nightferry run` refuses to join another. Pure. */
export function verbOfRun({ job, asked: { only = [], streams = [], since } }: Pick<Run, 'job' | 'asked'>): string {
  const options = [
    ...only.map((step) => ['--only', step]),
    ...streams.map((stream) => ['--stream', stream]),
    ...(since === undefined ? [] : [['--since', since]]),
  ]
  return ['nightferry run', job, ...options.flat()].map(inShell).join(' ')
}

/** A word as a shell reads it. */
function inShell(word: string, place: number): string {
  return place === 0 || /^[\w.:+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

type StartRun = {
  job: string
  trigger: RunTrigger
  scheduledFor: Date
  firstStep: string
  asked?: RunAsked
  askedBy?: string | null
}

/**
 * Begins a run, unless one of the job is running, one of another job works with the ledger, or the occurrence was
 * taken: the database decides which of the daemons does.
 * @returns null when this call began nothing.
 */
export async function insertRun(trx: Transaction<Schema>, start: StartRun): Promise<Run | null> {
  const { rows } = await sql<Run>`
    insert into run (job, trigger, scheduled_for, state, step, asked, asked_by)
    select ${start.job}, ${start.trigger}, ${start.scheduledFor}, 'running', ${start.firstStep},
           ${JSON.stringify(start.asked ?? {})}, ${start.askedBy ?? null}
    -- A row that comes to nothing would use up a number, and requests that wait try every few seconds.
    where not exists (
      select from run
      where state = 'running' and (job = ${start.job} or ${besideOthers} not in (job, ${start.job})))
    on conflict do nothing
    returning *`.execute(trx)
  return rows[0] ?? null
}

/** Records an occurrence that nobody will run, so that it is not found missed again. */
export async function insertSkippedRun(db: Database, job: string, scheduledFor: Date): Promise<void> {
  await sql`
    insert into run (job, trigger, scheduled_for, state, step, finished_at)
    values (${job}, 'missed', ${scheduledFor}, 'skipped', '', clock_timestamp())
    on conflict do nothing`.execute(db)
}

/** What a schedule asked for, whether or not a run came of it. */
const scheduled = ['schedule', 'missed'] as const

/** The newest occurrence of a job's schedule up to now about which was decided. */
export async function lastDecided(db: Database, job: string, now: Date): Promise<Date | undefined> {
  const last = await db
    .selectFrom('run')
    .select('scheduled_for')
    .where('job', '=', job)
    .where('trigger', 'in', scheduled)
    .where('scheduled_for', '<=', now)
    .orderBy('scheduled_for', 'desc')
    .limit(1)
    .executeTakeFirst()
  return last?.scheduled_for
}

/** A clock may be put back by so much without an occurrence being run a second time. Milliseconds. */
const putBackMs = 90 * 60_000

/**
 * Takes back what was decided about occurrences that lie ahead of now: a clock was ahead then, and was put right. The
 * runs count as ones for the moment after the last occurrence up to now. While a clock is behind by some nights, what a
 * right one decided in them is taken back as well, and the last of them is made up for afterwards: twice is better than
 * never. Where nothing up to now was decided before them, as while a clock stands at its first day, nothing is touched.
 */
export async function takeBackAhead(db: Database, job: string, now: Date): Promise<void> {
  await sql`
    with ahead as (
      select run_id, row_number() over (order by run_id) as number from run
      where job = ${job} and trigger in (${sql.join(scheduled)}) and state <> 'running'
        and scheduled_for > ${new Date(now.getTime() + putBackMs)}::timestamptz
        and run_id > (
          select min(run_id) from run
          where job = ${job} and trigger in (${sql.join(scheduled)}) and scheduled_for <= ${now}
        )
    )
    update run
    set scheduled_for = ${(await lastDecided(db, job, now)) ?? now}::timestamptz + number * interval '1 millisecond'
    from ahead where ahead.run_id = run.run_id`.execute(db)
}

/** The run of a job that is under way, if any. */
export async function runningRun(db: Database, job: string): Promise<Run | undefined> {
  return await db.selectFrom('run').selectAll().where('job', '=', job).where('state', '=', 'running').executeTakeFirst()
}

/** The job that works beside every other one. The index run_one_on_ledger says the same. */
export const besideOthers = 'housekeeping'

/** The run under way that a job has to wait for, or is: those that work with the ledger exclude each other. */
export async function runInTheWay(db: Database, job: string): Promise<Run | undefined> {
  if (job === besideOthers) return await runningRun(db, job)
  return await db
    .selectFrom('run')
    .selectAll()
    .where('job', '<>', besideOthers)
    .where('state', '=', 'running')
    .executeTakeFirst()
}

/** Every run that is under way, whatever its job. */
export async function runningRuns(db: Database): Promise<Run[]> {
  return await db.selectFrom('run').selectAll().where('state', '=', 'running').orderBy('run_id').execute()
}

/** Whether an earlier `run` for the destination in use has ended before its `submission`. */
const wasLeft = sql<boolean>`run.run_id = submission.run_id and run.state <> 'running'
  and run.destination_id = destination_in_use() and ${isUnfinished}`

/**
 * Hands the unfinished submissions of runs that ended early to a new run, which polls and settles them with its own:
 * nothing in flight is forgotten, nothing is sent beside it. Not carried over are searches, because the new run has its
 * own, and submissions of which nothing has left, written or not: their rows may have changed, or the guard may hold
 * them by now, so they are planned afresh. One whose answer was lost goes on with what it said. What went to a
 * destination that is not in use stays with its run until that is put to use again.
 * @param sends whether the run waits for what it takes over; one that does not leaves it to the next that does.
 */
export async function adoptUnfinished(
  trx: Transaction<Schema>,
  runId: number,
  searchKinds: readonly string[],
  sends = true,
): Promise<void> {
  await sql`
    with given_up as (
      update submission
      set state = 'abandoned'
      from run
      where ${wasLeft} and (submission.kind = any(${searchKinds}) or (submission.state = 'planned'
          and submission.uncertain_since is null))
      returning submission_id
    )
    delete from held_property using given_up where held_property.submission_id = given_up.submission_id`.execute(trx)
  if (!sends) return
  await sql`
    update submission
    set run_id = ${runId}, failures = 0, failing_since = null, answers_lost_since = null
    from run
    where ${wasLeft}`.execute(trx)
}

type RunEnd = {
  verdict: Verdict
  report: object
  finishedAt: Date
  /** Whether it carried the data through; null of a job that carries none. */
  carried: boolean | null
}

/** Ends a run with its report. */
export async function finishRun(trx: Transaction<Schema>, runId: number, end: RunEnd): Promise<void> {
  const { verdict, report, finishedAt, carried } = end
  await trx
    .updateTable('run')
    .set({ state: 'finished', verdict, report: JSON.stringify(report), finished_at: finishedAt, carried })
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .execute()
}

/**
 * Ends a run that cannot go on. What it sent stays what it is; the next run goes on from there.
 * @returns false if it had ended already.
 */
export async function failRun(db: Database, runId: number, failure: RunFailure, finishedAt: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('run')
    .set({ state: 'failed', verdict: 'failed', failure: JSON.stringify(failure), finished_at: finishedAt })
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/**
 * Locks a run that is under way until the transaction ends. The lock of a look belongs to a connection of its own and
 * is lost with it, while the look goes on; what two looks must not do at once is therefore done under this lock.
 * @returns false when the run has ended: a later one may be at work already.
 */
export async function lockRun(trx: Transaction<Schema>, runId: number): Promise<boolean> {
  const run = await trx
    .selectFrom('run')
    .select('run_id')
    .where('run_id', '=', runId)
    .where('state', '=', 'running')
    .forNoKeyUpdate()
    .executeTakeFirst()
  return run !== undefined
}

type Timer = { submission_id: number; timer: number }

/** Voids the timer that each submission has and numbers a new one: of looks at a later time only the newest counts. */
export async function nextTimers(trx: Transaction<Schema>, submissionIds: readonly number[]): Promise<Timer[]> {
  const { rows } = await sql<Timer>`
    update submission set timer = timer + 1
    where submission_id = any(${submissionIds}::bigint[])
    returning submission_id, timer`.execute(trx)
  return rows
}
