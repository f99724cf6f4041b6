import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import {
  answerRequests,
  hearJobs,
  isPaused,
  isTelling,
  isWaiting,
  type JobRequest,
  type RequestAnswer,
  scheduleSince,
} from '../db/runs/job-requests.ts'
import { besideOthers, lastDecided, runningRun, runningRuns } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { channelsOf } from '../pipeline/notify/channels.ts'
import { deliverDue } from '../pipeline/notify/deliver.ts'
import { beginNoting, noteEnds, noteLate, noteSlow } from '../pipeline/notify/note-ends.ts'
import { dueOccurrence } from './due-occurrence.ts'
import type { Job } from './job.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'
import { forecastOf } from './run-forecast.ts'
import { JobRefused, lookAtEverything, triggerJob } from './trigger-run.ts'

/** How often the table is looked at where no notification comes, and a lost connection is tried again. Milliseconds. */
const pollMs = 5_000

/**
 * Starts what people ask for by a row of job_request or by a notification, as long as a daemon is up.
 * @param told the jobs of which the daemon tells people how they end (`startNotices`).
 */
export function startRequests(deps: Deps, told: readonly string[]): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  let wake = new AbortController()
  const answering = new Set<Promise<void>>()
  const onJob = (job: string) => {
    const asked = triggerNoticed(deps, job).finally(() => answering.delete(asked))
    answering.add(asked)
  }
  // A monitor that only hears of what went well is nobody who is told of trouble.
  const tells = () => (channelsOf(deps.config.notify).length > 0 ? told : [])
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      const heard = { onWake: () => wake.abort(), onJob, tells, signal, retryMs: pollMs }
      await hearJobs(deps.pool, heard).catch((error: Error) => deps.tellTrouble('job_channel_lost', error))
      await delay(pollMs, undefined, { signal }).catch(() => {})
    }
  }
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      wake = new AbortController()
      await lookAtRequests(deps)
      await delay(pollMs, undefined, { signal: AbortSignal.any([signal, wake.signal]) }).catch(() => {})
    }
  }
  const working = Promise.all([listen(), work()])
  return {
    stop: async () => {
      stopping.abort()
      await working
      await Promise.all(answering)
    },
  }
}

/** Answers every request that waits. Never throws: what could not be answered waits for the next look. */
export async function lookAtRequests(deps: Deps): Promise<void> {
  await answerRequests(deps.db, (request) => answerTo(deps, request)).catch((error: Error) =>
    deps.tellTrouble('job_requests_failed', error),
  )
}

async function answerTo(
  deps: Deps,
  { job, only_steps: only, streams, since, requested_by }: JobRequest,
): Promise<RequestAnswer> {
  try {
    if (await wouldTakeTurn(deps, job)) return null
    const asked = {
      trigger: 'table' as const,
      by: requested_by,
      ...(only !== null && { only }),
      ...(streams !== null && { streams }),
      ...(since !== null && { since }),
    }
    const { run, joined } = await triggerJob(deps, job, asked)
    return { state: joined ? 'joined' : 'started', runId: run.run_id }
  } catch (error) {
    if (!(error instanceof JobRefused)) throw error
    return error.code === 'job_busy' ? null : { state: 'refused', reason: `${error.code}: ${error.message}` }
  }
}

async function triggerNoticed(deps: Deps, job: string): Promise<void> {
  try {
    if (await wouldTakeTurn(deps, job)) throw new JobRefused('job_busy', `A job that fell due begins before ${job}`)
    await triggerJob(deps, job, { trigger: 'notify', by: 'pg_notify' })
  } catch (error) {
    deps.logger.warn({ job, error: (error as Error).message }, 'job_notification_refused')
  }
}

/**
 * Whether a run of the job would take the turn of another job that fell due while a run was under way. What programs
 * ask for lets that one go first: they ask as soon as a run has ended, the schedule looks once a minute, and a night
 * would never get its turn. Who joins a run takes nobody's turn.
 */
async function wouldTakeTurn({ config, db, now }: Deps, job: string): Promise<boolean> {
  if (job === besideOthers || (await runningRun(db, job)) !== undefined) return false
  for (const { name } of jobsOf(config)) {
    if (name === job || name === besideOthers) continue
    const setting = scheduleOf(config, name)
    const due = dueOccurrence(name, setting, now())
    if (due === null || !(await isWaiting(db, name, due)) || (await isPaused(db, name))) continue
    const since = await scheduleSince(db, name, setting, now())
    if (since !== null && due <= since) continue
    // Another daemon may have begun it while this one noted that it waits.
    const decided = await lastDecided(db, name, now())
    if (decided === undefined || due > decided) return true
  }
  return false
}

type WatchedKey = {
  /** Until the next probe may go out, while the service does not accept the key; null while it does. */
  refusal: () => Promise<{ probeInMs: number } | null>
  /** A call that the open breaker lets through when it is time, and that closes it when it succeeds. */
  probe: () => Promise<unknown>
  logger: Pick<Logger, 'warn' | 'debug'>
}

/** So that a probe which is due is not asked for a moment too early, and then an interval late. In milliseconds. */
const marginMs = 20

/**
 * Finds out whether a key that the service did not accept is accepted again. Every daemon watches, and of each probe
 * that is due one of them makes it, so none has to be told. A probe that is under way when it is stopped ends with the
 * client.
 */
export function startKeyWatch({ refusal, probe, logger }: WatchedKey, intervalMs: number): { stop: () => void } {
  const stopping = new AbortController()
  const { signal } = stopping
  const look = async (): Promise<number> => {
    const refused = await refusal()
    if (refused === null) return intervalMs
    if (refused.probeInMs > 0) return Math.min(refused.probeInMs + marginMs, intervalMs)
    await probe()
    return intervalMs
  }
  const watch = async (): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = await look().catch((error: Error & { code?: unknown }) => {
        const refusedStill = error.code === 'exchange_unauthorized'
        if (!signal.aborted) logger[refusedStill ? 'debug' : 'warn']({ error: error.message }, 'key_probe_failed')
        return intervalMs
      })
      await delay(waitMs, undefined, { signal }).catch(() => {})
    }
  }
  void watch()
  return { stop: () => stopping.abort() }
}

/** How often the database's clock is compared with one that nobody sets. Milliseconds. */
const watchMs = 30_000

/**
 * How long a stop waits for a look that is under way, so that what it has done is stored. A statement that does
 * not end, such as one that waits for a lock, ends with its connection. Milliseconds.
 */
const lingerMs = 1_000

/** A clock that is this much behind where it should be was set back; readings differ by less. Milliseconds. */
const setBackMs = 2_000

/**
 * Notices that the database's clock was set back. What was put off to a moment of the old clock would wait for as long
 * as it was set back, so every look that a run may be waiting for is asked for again; one too many harms nothing.
 * The queue is looked after again whether or not this process noticed: the clock may have been ahead for seconds, or
 * before it began.
 */
export function startClockWatch(deps: Deps): { look: () => Promise<void>; stop: () => Promise<void> } {
  const ahead = () => deps.now().getTime() - performance.now()
  let known = ahead()
  const look = async (): Promise<void> => {
    await deps.readClock?.()
    await forgetPassesAhead(deps)
    const by = known - ahead()
    if (by < setBackMs) {
      known -= by
      return
    }
    deps.logger.warn({ by_ms: Math.round(by) }, 'database_clock_set_back')
    for (const run of await runningRuns(deps.db)) {
      await deps.db.transaction().execute((trx) => lookAtEverything(deps, trx, run))
    }
    known -= by
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look).catch((error: Error) => deps.tellTrouble('clock_watch_failed', error))
  }, watchMs)
  timer.unref()
  return {
    look,
    stop: async () => {
      clearInterval(timer)
      await Promise.race([looking, delay(lingerMs, undefined, { ref: false })])
    },
  }
}

/** Until the moment of the newest pass no process makes another: nobody would notice a worker that died. */
async function forgetPassesAhead({ db, logger }: Pick<Deps, 'db' | 'logger'>): Promise<void> {
  const { rows } = await sql<{ queue: string }>`
    update nightferry_queue.queue set monitor_claim_on = null, monitor_on = null, maintain_on = null
    where greatest(monitor_claim_on, monitor_on, maintain_on) > clock_timestamp()
    returning name as queue`.execute(db)
  if (rows.length > 0) logger.warn({ queues: rows.map(({ queue }) => queue) }, 'queue_passes_ahead')
}

/** How often a daemon looks whether there is something to tell. Milliseconds. */
const intervalMs = 15_000

/** How often news is looked for after that failed: what prevented it lasts longer. Milliseconds. */
const afterTroubleMs = 60_000

function isAnyoneTold({ config }: Deps): boolean {
  return channelsOf(config.notify).length > 0 || channelsOf(config.notify, true).length > 0
}

/** To be called before a run begins: it is the first whose end people are told of, if they are told of any. */
export async function expectNews(deps: Deps, job: Job): Promise<void> {
  if (isAnyoneTold(deps)) await beginNoting(deps.db, job.name)
}

/**
 * Tells people what is new of a job: how its runs ended, and that one is late. Never throws, because a
 * run ended as it did whether or not people were told.
 * @returns false if it could not look.
 */
export async function tellNews(deps: Deps, job: Job, signal?: AbortSignal): Promise<boolean> {
  if (!isAnyoneTold(deps)) return true
  try {
    await deps.readClock?.()
    await noteEnds(deps, job.name)
    const { lateAfterMs } = deps.config.notify
    // The last one that could have ended: with a schedule more frequent than this patience, not the newest.
    const before = new Date(deps.now().getTime() - lateAfterMs)
    const setting = scheduleOf(deps.config, job.name)
    const due = dueOccurrence(job.name, setting, before)
    const since = await scheduleSince(deps.db, job.name, setting, deps.now())
    if (due !== null && (since === null || due > since)) await noteLate(deps, job.name, due)
    await tellSlow(deps, job)
    await deliverDue(deps, signal)
    return true
  } catch (error) {
    if (signal?.aborted !== true) deps.tellTrouble('notifications_failed', error as Error, { job: job.name })
    return false
  }
}

/** The same after a run that a person followed: a daemon that is up and tells people does it within seconds. */
export async function tellWhereNobodyDoes(deps: Deps, job: Job, signal: AbortSignal): Promise<void> {
  if (isAnyoneTold(deps) && (await isTelling(deps.db, job.name).catch(() => false))) return
  await tellNews(deps, job, signal)
}

/** Tells that the run under way will end after its deadline. */
async function tellSlow(deps: Deps, job: Job): Promise<void> {
  if (scheduleOf(deps.config, job.name).finishBy === null) return
  const run = await runningRun(deps.db, job.name)
  if (run === undefined) return
  const { ends_at, deadline, late } = await forecastOf(deps.db, deps, run, deps.now())
  if (late && deadline !== null) await noteSlow(deps, { ...run, ends_at, deadline })
}

/** Tells people what is new of a job for as long as a daemon is up. Several daemons share it. */
export function startNotices(deps: Deps, job: Job): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = (await tellNews(deps, job, signal)) ? intervalMs : afterTroubleMs
      await delay(waitMs, undefined, { signal }).catch(() => {})
    }
  }
  const working = work()
  return {
    stop: async () => {
      stopping.abort()
      await Promise.race([working, delay(lingerMs, undefined, { ref: false })])
    },
  }
}
