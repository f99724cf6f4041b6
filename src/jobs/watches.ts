import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import {
  answerRequests,
  hearJobs,
  isPaused,
  isWaiting,
  type JobRequest,
  type RequestAnswer,
} from '../db/runs/job-requests.ts'
import { runningRun } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { dueOccurrence } from './due-occurrence.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'
import { JobRefused, triggerJob } from './trigger-job.ts'

/** How often the table is looked at where no notification comes, and a lost connection is tried again. Milliseconds. */
const pollMs = 5_000

/** Starts what people ask for by a row of job_request or by a notification, as long as a daemon is up. */
export function startRequests(deps: Deps): { stop: () => Promise<void> } {
  const stopping = new AbortController()
  const { signal } = stopping
  let wake = new AbortController()
  const answering = new Set<Promise<void>>()
  const onJob = (job: string) => {
    const asked = triggerNoticed(deps, job).finally(() => answering.delete(asked))
    answering.add(asked)
  }
  const listen = async (): Promise<void> => {
    while (!signal.aborted) {
      await hearJobs(deps.pool, { onWake: () => wake.abort(), onJob, signal, retryMs: pollMs }).catch((error: Error) =>
        deps.logger.warn({ error: error.message }, 'job_channel_lost'),
      )
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
    deps.logger.warn({ error: error.message }, 'job_requests_failed'),
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

/** The job that never waits for another one, nor lets one wait. */
const besideOthers = 'housekeeping'

/**
 * Whether a run of the job would take the turn of another job that fell due while a run was under way. What programs
 * ask for lets that one go first: they ask as soon as a run has ended, the schedule looks once a minute, and a night
 * would never get its turn. Who joins a run takes nobody's turn.
 */
async function wouldTakeTurn({ config, db, now }: Deps, job: string): Promise<boolean> {
  if (job === besideOthers || (await runningRun(db, job)) !== undefined) return false
  for (const { name } of jobsOf(config)) {
    if (name === job || name === besideOthers) continue
    const due = dueOccurrence(name, scheduleOf(config, name), now())
    if (due !== null && (await isWaiting(db, name, due)) && !(await isPaused(db, name))) return true
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
