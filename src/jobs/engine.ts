import { sql, type Transaction } from 'kysely'
import { fromKysely, type JobWithMetadata, PgBoss } from 'pg-boss'
import type { Config } from '../config/schema.ts'
import { storableText } from '../db/copy-text.ts'
import { noticesSilence } from '../db/database.ts'
import { withRemedy } from '../db/database-trouble.ts'
import { nextTimers } from '../db/runs/run-life.ts'
import type { Schema } from '../db/tables/database-schema.ts'
import type { RunTrigger } from '../db/tables/run-tables.ts'
import { AnswerFormatError, saysUnknown } from '../exchange/errors.ts'
import { type Deps, type Looks, StopRun } from '../pipeline/deps.ts'
import { checkDestination } from '../pipeline/destination/check-destination.ts'
import { lookAtPage } from '../pipeline/pull/look-at-page.ts'
import { lookAtSubmission } from '../pipeline/push/look-at-submission.ts'
import { createAlarm } from './alarm.ts'
import type { Job } from './job.ts'
import { lookAtRun, stopRun } from './look-at-run.ts'

const queues = { run: 'look-at-run', submission: 'look-at-submission', page: 'look-at-page' } as const

/**
 * `insist`: set on a look that was handed out again, whose lock a dead process may have.
 * `timer`: set on a look that was put off; void once a newer one was.
 */
type LookData = { id: number; insist?: boolean; timer?: number }

/** Answers false when another look was at work and nothing was done. */
type Look = (id: number, timer?: number) => Promise<boolean>

/** The longest pause before a look that failed is tried again, in seconds. */
const longestPauseSeconds = 60

/**
 * How often a look that fails is tried again before it ends its run: pauses double from a second to the longest, then
 * one a minute, for as long as the configuration tolerates.
 */
function retriesOf({ exchange }: Config): number {
  return 6 + Math.ceil(exchange.giveUpAfterMs / 1000 / longestPauseSeconds)
}

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

type WorkOptions = {
  beforeLook?: () => void
  beforeRun?: () => Promise<void>
  yields?: boolean
  runEnded?: (runId: number) => Promise<void>
}

export type Engine = {
  looks: Looks
  /**
   * Begins to work off looks. Without it a process only asks for them.
   * @param options.beforeLook called before each look, at whatever.
   * @param options.beforeRun called before each look at a run; if it throws, the look is left to another process, or to
   *   later.
   * @param options.yields a look at a run of another destination than the configured one, or of a job, step, search or
   *   kind of request that this process does not know, is left to other processes, and the run ends only when none has
   *   taken it for as long as faults are tolerated. Without it the run ends at once.
   * @param options.runEnded called once this process has ended a run, well or not. It must not throw.
   */
  work(deps: Deps, jobs: readonly Job[], options?: WorkOptions): Promise<void>
  /** Takes no more looks, lets those at hand end within the configured time, breaks off downloads, and closes. */
  stop(): Promise<void>
}

/**
 * The queue of looks: pg-boss on the database that holds the domain tables. A look says only "look at this now, or at
 * that time"; the tables are the truth. A worker that dies is noticed by its missed heartbeat.
 */
export async function startEngine(url: string, config: Config, onError: (error: Error) => void): Promise<Engine> {
  const { engine } = config
  const boss = new PgBoss({
    connectionString: url,
    // Handed on to the driver, though the type does not say so.
    ...noticesSilence,
    schema: 'nightferry_queue',
    application_name: 'nightferry queue',
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
    retryLimit: retriesOf(config) + retriesOfTheEnd,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: longestPauseSeconds,
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
  const looks: Looks = {
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

  const work: Engine['work'] = async (deps, jobs, { beforeLook, beforeRun, yields = false, runEnded } = {}) => {
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
          const done = await guarded(deps, queue, job as JobWithMetadata<LookData>, look, yields, runEnded).finally(
            leave,
          )
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
      lookAtPage(deps, id, { stopping: stopping.signal, yields }),
    )
  }

  return {
    looks,
    work,
    stop: async () => {
      alarm.stop()
      await boss.stop({ graceful: true, timeout: engine.shutdownMs, close: true })
      stopping.abort()
    },
  }
}

async function databaseMoment(trx: Transaction<Schema>, delayMs: number): Promise<Date> {
  const { rows } = await sql<{ at: Date }>`
    select clock_timestamp() + ${delayMs}::float8 * interval '1 millisecond' as at`.execute(trx)
  const [row] = rows
  if (row === undefined) throw new Error('the database did not say what time it is')
  return row.at
}

/** Runs a look. What stops the run ends it; anything else is tried again by the queue, and ends the run at last. */
async function guarded(
  deps: Deps,
  queue: string,
  job: JobWithMetadata<LookData>,
  look: Look,
  yields: boolean,
  runEnded: WorkOptions['runEnded'],
): Promise<boolean> {
  let checking = false
  try {
    await deps.readClock?.()
    // Another process may be configured for another destination, or this one was while the run was interrupted.
    checking = true
    await checkDestination(deps)
    checking = false
    return await look(job.data.id, job.data.timer)
  } catch (caught) {
    const error = withRemedy(caught)
    const run = await runBehind(deps, queue, job.data.id)
    const leave = yields && (checking || ofOthers.has((error as { code?: unknown }).code))
    // A look of an earlier version or configuration has the limit of its time.
    const last = Math.min(retriesOf(deps.config), job.retryLimit)
    const final = (!leave && isFinal(error, run?.trigger)) || job.retryCount >= last
    deps.logger[final ? 'error' : 'warn'](
      { queue, id: job.data.id, attempt: job.retryCount + 1, error: describe(error) },
      'look_failed',
    )
    // The queue keeps what is thrown: its message alone, as Postgres can store it; causes may contain anything.
    if (!final) throw new LookFailed(storableText(describe(error).message))
    if (run !== undefined) {
      const ended = await stopRun(deps, run, error, await submissionBehind(deps, queue, job.data.id))
      if (ended) await runEnded?.(run.run_id)
    }
    return true
  }
}

class LookFailed extends Error {}

/** What this process cannot do, and one of another configuration or version may. */
const ofOthers = new Set<unknown>(['destination_changed', 'job_unknown', 'step_unknown', 'kind_unknown'])

/** Errors whose cause a person has to fix: another attempt in a minute would end the same way. */
const finalCodes = new Set([
  'exchange_unauthorized',
  'exchange_forbidden',
  'exchange_not_found',
  'exchange_refused',
  'partner_query_failed',
  'partner_query_too_slow',
  'partner_driver_missing',
  'partner_snapshot_off',
  'partner_too_old',
  'database_permission_denied',
])

/**
 * Somebody waits at a terminal for a run that a verb started, so it says at once that a server cannot be reached, or
 * that its disk is full.
 */
const finalByHand = new Set([
  'exchange_unreachable',
  'exchange_failed',
  'exchange_throttled',
  'exchange_answer_malformed',
  'partner_unreachable',
  'disk_full',
  'database_read_only',
])

function isFinal(error: unknown, trigger: RunTrigger | undefined): boolean {
  const { code } = error as { code?: unknown }
  if (error instanceof StopRun || (error instanceof AnswerFormatError && error.tooLong)) return true
  // A gateway does not find the service while that restarts behind it.
  if (code === 'exchange_not_found' && !saysUnknown(error)) return trigger === 'cli'
  return typeof code === 'string' && (finalCodes.has(code) || (trigger === 'cli' && finalByHand.has(code)))
}

function describe(error: unknown): { code: unknown; message: string; stack: string | undefined } {
  const { code, message, stack } = error as { code?: unknown; message?: string; stack?: string }
  return { code, message: message ?? String(error), stack }
}

async function runBehind(deps: Deps, queue: string, id: number) {
  const runs = deps.db.selectFrom('run').select(['run.run_id', 'run.step', 'run.trigger'])
  if (queue === queues.run) return await runs.where('run.run_id', '=', id).executeTakeFirst()
  const bySubmission = runs.innerJoin('submission', 'submission.run_id', 'run.run_id')
  if (queue === queues.submission) return await bySubmission.where('submission_id', '=', id).executeTakeFirst()
  return await bySubmission
    .innerJoin('search_page', 'search_page.submission_id', 'submission.submission_id')
    .where('page_id', '=', id)
    .executeTakeFirst()
}

/** The submission that a look was at, or whose page; none for a look at a run. */
async function submissionBehind({ db }: Deps, queue: string, id: number) {
  const submissions = db
    .selectFrom('submission')
    .select(['submission.submission_id', 'submission.kind', 'submission.state', 'submission.correlation_id'])
    .select('submission.uncertain_since')
  if (queue === queues.submission) return await submissions.where('submission_id', '=', id).executeTakeFirst()
  if (queue !== queues.page) return undefined
  return await submissions
    .innerJoin('search_page', 'search_page.submission_id', 'submission.submission_id')
    .where('page_id', '=', id)
    .executeTakeFirst()
}
