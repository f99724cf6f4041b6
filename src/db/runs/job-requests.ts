import { type Selectable, sql, type Transaction } from 'kysely'
import type pg from 'pg'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { JobPauseTable, JobRequestTable } from '../tables/run-tables.ts'
import { lastDecided } from './run-life.ts'

export type JobRequest = Selectable<JobRequestTable>

/** What came of a request; `waiting` leaves it to a later look. */
export type RequestAnswer = { state: 'started' | 'joined'; runId: number } | { state: 'refused'; reason: string } | null

/**
 * Answers the waiting requests, oldest first, each under the lock of its row: of several processes one does.
 * A process that dies after it acted and before the answer is stored leaves a request that is acted on again.
 */
export async function answerRequests(
  db: Database,
  answer: (request: JobRequest) => Promise<RequestAnswer>,
): Promise<void> {
  let last = 0
  for (;;) {
    const next = await db.transaction().execute(async (trx) => {
      const request = await lockNext(trx, last)
      if (request === undefined) return null
      const given = await answer(request)
      if (given !== null) await store(trx, request.request_id, given)
      return request.request_id
    })
    if (next === null) return
    last = next
  }
}

async function lockNext(trx: Transaction<Schema>, after: number): Promise<JobRequest | undefined> {
  return await trx
    .selectFrom('job_request')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('request_id', '>', after)
    .orderBy('request_id')
    .limit(1)
    .forUpdate()
    .skipLocked()
    .executeTakeFirst()
}

async function store(trx: Transaction<Schema>, requestId: number, answer: Exclude<RequestAnswer, null>): Promise<void> {
  const runId = answer.state === 'refused' ? null : answer.runId
  const reason = answer.state === 'refused' ? answer.reason : null
  await sql`
    update job_request
    set state = ${answer.state}, run_id = ${runId}, reason = ${reason}, answered_at = clock_timestamp()
    where request_id = ${requestId}`.execute(trx)
}

export type JobPause = Selectable<JobPauseTable>

/** Every job that is paused. */
export async function pausedJobs(db: Database): Promise<JobPause[]> {
  return await db.selectFrom('job_pause').selectAll().orderBy('job').execute()
}

export async function isPaused(db: Database, job: string): Promise<boolean> {
  return (await db.selectFrom('job_pause').select('job').where('job', '=', job).executeTakeFirst()) !== undefined
}

/** First half of the advisory lock on a job's pause; the second is the job's name, as a number. */
const pauseLock = 4_711_020

/**
 * Keeps a job's pause as it is until the transaction ends: of a start and a pause at the same time, one sees the other.
 */
export async function lockPause(trx: Transaction<Schema>, job: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${pauseLock}, hashtext(${job}))`.execute(trx)
}

/**
 * Notes that an occurrence of a schedule was seen in time and has to wait for another run: however long that takes, and
 * whichever daemon lives to see it, it was not missed.
 */
export async function noteWaiting(db: Database, job: string, due: Date): Promise<void> {
  await sql`
    insert into job_waiting (job, due) values (${job}, ${due})
    on conflict (job) do update set due = excluded.due, noted_at = clock_timestamp()
    where job_waiting.due < excluded.due`.execute(db)
}

/** Whether this occurrence, or a later one, was seen in time. */
export async function isWaiting(db: Database, job: string, due: Date): Promise<boolean> {
  const noted = await db.selectFrom('job_waiting').select('due').where('job', '=', job).executeTakeFirst()
  return noted !== undefined && noted.due >= due
}

export async function forgetWaiting(trx: Transaction<Schema>, job: string): Promise<void> {
  await trx.deleteFrom('job_waiting').where('job', '=', job).execute()
}

/** Where a notification asks for a run: its payload is the name of a job; empty: look at the table of requests. */
const channel = 'nightferry_jobs'

/** The session-wide lock of the one process that acts on payloads, so that one notification asks for one run. */
const leaderLock = [4_711_013, 1]

/** First half of the session-wide locks, one for each job, that all processes share which tell people how it ends. */
const tellingGroup = 4_711_015

/**
 * Whether a process is up that tells people how runs of a job end. A person's process then leaves that to it: it may
 * know of fewer receivers, and a message that all of them have taken is over.
 */
export async function isTelling(db: Database, job: string): Promise<boolean> {
  const { rows } = await sql<{ telling: boolean }>`
    select exists (
      select from pg_locks
      where locktype = 'advisory' and classid = ${tellingGroup} and objsubid = 2 and granted
        -- The second half of a key is shown without its sign.
        and objid::bigint = (hashtext(${job})::bigint & 4294967295)
        and database = (select oid from pg_database where datname = current_database())) as telling`.execute(db)
  return rows[0]?.telling === true
}

/**
 * Hears what is told on the channel until `signal` aborts or the connection is lost.
 * @param onJob called with the payload, in one process of all that listen.
 * @param tells the jobs of which this process tells people how they end (`isTelling`); asked each time.
 * @throws what broke the connection.
 */
export async function hearJobs(
  pool: pg.Pool,
  {
    onWake,
    onJob,
    tells,
    signal,
    retryMs,
  }: {
    onWake: () => void
    onJob: (job: string) => void
    tells: () => readonly string[]
    signal: AbortSignal
    retryMs: number
  },
): Promise<void> {
  const client = await pool.connect()
  let leads = false
  const telling = new Set<string>()
  let looking: NodeJS.Timeout | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      client.once('error', reject)
      client.once('end', () => reject(new Error('the connection that listens was lost')))
      client.on('notification', ({ payload }) => {
        if (payload === undefined || payload === '') onWake()
        else if (leads) onJob(payload)
      })
      signal.addEventListener('abort', () => resolve(), { once: true })
      if (signal.aborted) resolve()
      const look = async () => {
        if (!leads) {
          const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
            ...leaderLock,
          ])
          leads = rows[0]?.locked === true
        }
        const told = new Set(tells())
        for (const job of new Set([...told, ...telling])) {
          const begins = told.has(job)
          if (begins === telling.has(job)) continue
          if (begins) telling.add(job)
          else telling.delete(job)
          const lock = begins ? 'pg_advisory_lock_shared' : 'pg_advisory_unlock_shared'
          await client.query(`select ${lock}($1, hashtext($2))`, [tellingGroup, job])
        }
      }
      looking = setInterval(() => void look().catch(reject), retryMs)
      client.query(`listen ${channel}`).then(look).then(onWake).catch(reject)
    })
  } finally {
    clearInterval(looking)
    client.removeAllListeners('notification')
    // Thrown away: it listens and has locks.
    client.release(true)
  }
}

/** When a job starts by itself, as it is configured; without a schedule it never does. */
type Schedule = { schedule: string | null; timeZone: string }

/** What is noted where a job has none, so that one that is set later is not taken for one from before. */
const none = ''

/**
 * Notes the schedule that a job has, and since when: what fell due before was not to be run, and so was not missed.
 * One that is in force stands. Where none was ever noted, the last occurrence that was decided says since when. Others
 * of the job are retired; a daemon that still uses one of them keeps it (`keepSchedule`).
 * @param from since when it counts if it is new or was retired.
 * @param now a noted moment that is later comes from a clock that was ahead.
 * @returns since when the schedule has been in force.
 */
export async function noteSchedule(
  db: Database,
  job: string,
  setting: Schedule,
  { from, now }: { from: Date; now: Date },
): Promise<Date> {
  const { schedule, timeZone } = { ...setting, schedule: setting.schedule ?? none }
  const known = await db.selectFrom('job_schedule').select('job').where('job', '=', job).limit(1).executeTakeFirst()
  const unlessNoted = known === undefined ? ((await lastDecided(db, job, now)) ?? from) : from
  // A statement of its own: two daemons that note different ones wait for each other in no circle.
  await sql`
    update job_schedule set since = null
    where job = ${job} and (schedule, time_zone) <> (${schedule}, ${timeZone}) and since is not null`.execute(db)
  const { rows } = await sql<{ since: Date }>`
    insert into job_schedule as noted (job, schedule, time_zone, since)
    values (${job}, ${schedule}, ${timeZone}, ${unlessNoted})
    on conflict (job, schedule, time_zone) do update
    set since = case when noted.since <= ${now} then noted.since else ${from} end
    returning since`.execute(db)
  return rows[0]?.since ?? from
}

/** Keeps a schedule in force that a daemon goes by: one that goes by another, or lacks the job, retires it. */
export async function keepSchedule(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  since: Date,
): Promise<void> {
  await db
    .updateTable('job_schedule')
    .set({ since })
    .where('job', '=', job)
    .where('schedule', '=', schedule ?? none)
    .where('time_zone', '=', timeZone)
    .where('since', 'is', null)
    .execute()
}

/**
 * Since when a job has had the schedule that it has: what fell due before was not to be run.
 * @returns `now` where it is not in force, or was noted by a clock that was ahead; null where none was ever noted.
 */
export async function scheduleSince(
  db: Database,
  job: string,
  { schedule, timeZone }: Schedule,
  now: Date,
): Promise<Date | null> {
  const noted = await db.selectFrom('job_schedule').selectAll().where('job', '=', job).execute()
  if (noted.length === 0) return null
  const own = noted.find((one) => one.schedule === (schedule ?? none) && one.time_zone === timeZone)
  const since = own?.since ?? now
  return since <= now ? since : now
}

/** Notes that all jobs but these have no schedule any more: one that comes back begins with its next occurrence. */
export async function retireSchedules(db: Database, known: readonly string[]): Promise<void> {
  await db
    .updateTable('job_schedule')
    .set({ since: null })
    .where('job', 'not in', known)
    .where('since', 'is not', null)
    .execute()
}
