import { setTimeout as delay } from 'node:timers/promises'
import { sql, type Transaction } from 'kysely'
import { fromKysely, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Config } from '../config/schema.ts'
import { connectionsOfQueue } from '../db/database.ts'
import { nextTimers } from '../db/runs/run-life.ts'
import { queueName } from '../db/service-key/keys-at-work.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import { given } from '../given.ts'
import { type Deps, type Looks, StopRun } from '../pipeline/deps.ts'
import { lookAtPage } from '../pipeline/pull/look-at-page.ts'
import { lookAtSubmission } from '../pipeline/push/look-at-submission.ts'
import { longestPauseMs, retriesWithin } from '../pipeline/when-to-look.ts'
import { type Alarm, createAlarm } from './alarm.ts'
import { type GuardOptions, guardedLook, type Look, type LookData, queues } from './guarded-look.ts'
import type { Job } from './job.ts'
import { lookAtRun } from './look-at-run.ts'

/**
 * Beyond those the queue goes on, so that the end of a run is written once it can be: the database may be away at the
 * last attempt, or the process may die in it. Nobody would ask for the look again.
 */
const retriesOfTheEnd = 1_000_000

/**
 * How often somebody looks for workers that have missed their heartbeat. It comes on top of the heartbeat, and so does
 * the pause before the look is tried again: together they stay below a minute unless the heartbeat itself is that long.
 */
function lookForDeadSeconds(heartbeatSeconds: number): number {
  return Math.ceil(heartbeatSeconds / 3)
}

type WorkOptions = GuardOptions & {
  beforeLook?: () => void
  beforeRun?: () => Promise<void>
}

export type Engine = {
  looks: Looks
  /**
   * Begins to work off looks. Without it a process only asks for them.
   * @param options.beforeLook called before each look, at whatever.
   * @param options.beforeRun called before each look at a run; if it throws, the look is left to another process, or to
   *   later.
   * @param options.yields a look that fails at what it leaves of the run is tried again, by this process or another,
   *   and the run ends only when none has done it for as long as faults are tolerated. Otherwise the run ends at once.
   */
  work(deps: Deps, jobs: readonly Job[], options?: WorkOptions): Promise<void>
  /** Takes no more looks, lets those at hand end within the configured time, breaks off downloads, and closes. */
  stop(): Promise<void>
}

/**
 * The queue of looks: pg-boss on the database that holds the domain tables. A look says only "look at this now, or at
 * that time"; the tables are the truth. A worker that dies is noticed by its missed heartbeat.
 * @param key the fingerprint of the API key, if this process will work off looks.
 */
export async function startEngine(
  url: string,
  config: Config,
  onError: (error: Error) => void,
  key: string | null = null,
): Promise<Engine> {
  const { engine } = config
  const boss = new PgBoss({
    connectionString: url,
    // Handed on to the driver, though the type does not say so.
    ...connectionsOfQueue,
    schema: 'nightferry_queue',
    application_name: queueName(key),
    max: 4,
    schedule: false,
    useListenNotify: true,
    monitorIntervalSeconds: lookForDeadSeconds(engine.heartbeatSeconds),
    superviseIntervalSeconds: lookForDeadSeconds(engine.heartbeatSeconds),
  })
  boss.on('error', onError)
  const options = {
    notify: true,
    heartbeatSeconds: engine.heartbeatSeconds,
    expireInSeconds: 6 * 3600,
    retryLimit: retriesWithin(config.exchange.giveUpAfterMs) + retriesOfTheEnd,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: longestPauseMs / 1000,
    deleteAfterSeconds: 3600,
  }
  try {
    await boss.start()
    for (const name of Object.values(queues)) {
      await boss.createQueue(name, options)
      // A queue that is there is left as it is: one of an earlier start has the settings of that time.
      await boss.updateQueue(name, options)
    }
  } catch (error) {
    // A start that failed half-way leaves connections and timers that would keep the process up.
    await boss.stop({ graceful: false, close: true }).catch(() => {})
    throw error
  }

  const stopping = new AbortController()
  const alarm = createAlarm((workerId) => boss.notifyWorker(workerId))
  const looks = createLooks(boss, alarm)
  const work: Engine['work'] = async (deps, jobs, { beforeLook, beforeRun, yields, runEnded } = {}) => {
    const pollSeconds = engine.jobPollMs / 1000
    const handle = async (queue: string, concurrency: number, look: Look): Promise<void> => {
      for (let worker = 0; worker < concurrency; worker++) await startWorker(queue, look)
    }
    const startWorker = async (queue: string, look: Look): Promise<void> => {
      let id: string | undefined
      id = await boss.work<LookData>(
        queue,
        {
          includeMetadata: true,
          pollingIntervalSeconds: pollSeconds,
          notifyPollingIntervalSeconds: pollSeconds,
        },
        async ([job]) => {
          // There may be more: without this a worker rests after each look until its next poll, however short that is.
          if (id !== undefined) boss.notifyWorker(id)
          if (job === undefined) return
          beforeLook?.()
          const { data, retryCount } = job as JobWithMetadata<LookData>
          const leave = alarm.occupy(id ?? '')
          const looking = guardedLook(deps, queue, job as JobWithMetadata<LookData>, look, given({ yields, runEnded }))
          const done = await looking.finally(leave)
          if (done) return
          // A look that was passed over comes again. The one that holds the lock may be dead, if this look has come
          // again already; but it may also have done its work, or have nothing to do, and miss the reason for our look.
          const dead = retryCount > 0 || data.insist === true
          const startAfter = dead ? engine.heartbeatSeconds : 1
          await boss.send(queue, dead ? { ...data, insist: true } : data, { startAfter })
          alarm.after(queue, startAfter * 1000)
        },
      )
      alarm.enlist(queue, id)
    }
    await handle(queues.run, 1, async (id) => {
      await beforeRun?.()
      const { job: name } = await deps.db
        .selectFrom('run')
        .select('job')
        .where('run_id', '=', id)
        .executeTakeFirstOrThrow()
      const job = jobs.find((known) => known.name === name)
      if (job === undefined)
        throw new StopRun(
          'job_unknown',
          `Run ${id} is of the job ${name}, which the version and configuration of this process do not have`,
        )
      if (await lookAtRun(deps, job, id)) await runEnded?.(id)
      return true
    })
    await handle(queues.submission, engine.submissionsAtOnce, (id, timer) => lookAtSubmission(deps, id, timer))
    await handle(queues.page, config.pull.pagesAtOnce, (id) =>
      lookAtPage(deps, id, { stopping: stopping.signal, ...(yields && { yields }) }),
    )
  }

  return {
    looks,
    work,
    stop: async () => {
      alarm.stop()
      await looksEnd(boss, engine.shutdownMs)
      await boss.stop({ graceful: false, close: true })
      stopping.abort()
    },
  }
}

/**
 * Waits until the looks at hand have ended, or for so long. The library's own wait asks for that every half second: the
 * process of a run, whose last look says that the run has ended before it has itself, often waited for that.
 */
async function looksEnd(boss: PgBoss, mostMs: number): Promise<void> {
  const ended = new AbortController()
  const looks = Promise.all(Object.values(queues).map((name) => boss.offWork(name)))
  await Promise.race([looks, delay(mostMs, undefined, { signal: ended.signal }).catch(() => {})])
  ended.abort()
}

/** Asks for looks: through the queue, in the transaction that gives the reason for them. */
function createLooks(boss: PgBoss, alarm: Alarm): Looks {
  const sendMany = async (
    queue: string,
    trx: Transaction<Schema>,
    looks: readonly LookData[],
    delayMs = 0,
  ): Promise<void> => {
    if (looks.length === 0) return
    // By the clock that the queue is read by: a process that is behind it would look again at once, and again.
    const startAfter = delayMs > 0 ? { startAfter: await databaseMoment(trx, delayMs) } : {}
    await boss.insert(
      queue,
      // What is to be done now comes before what was put off: a request that is sent works while others are polled.
      looks.map((data) => ({ data, ...startAfter, ...(delayMs === 0 && { priority: 1 }) })),
      { db: fromKysely(trx) },
    )
    if (delayMs > 0) alarm.after(queue, delayMs)
  }
  return {
    atRun: async (trx, runId) => {
      await boss.send(queues.run, { id: runId }, { db: fromKysely(trx) })
    },
    atSubmissions: async (trx, ids, delayMs = 0) => {
      if (ids.length === 0) return
      const timers =
        delayMs > 0 ? await nextTimers(trx, ids) : ids.map((id) => ({ submission_id: id, timer: undefined }))
      const looks = timers.map(({ submission_id, timer }) => ({
        id: submission_id,
        ...(timer !== undefined && { timer }),
      }))
      await sendMany(queues.submission, trx, looks, delayMs)
    },
    atPages: (trx, ids, delayMs) =>
      sendMany(
        queues.page,
        trx,
        ids.map((id) => ({ id })),
        delayMs,
      ),
  }
}

async function databaseMoment(trx: Transaction<Schema>, delayMs: number): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select clock_timestamp() + ${delayMs}::float8 * interval '1 millisecond' as at`.execute(trx)
  const [row] = rows
  if (row === undefined) throw new Error('the database did not say what time it is')
  return row.at
}
