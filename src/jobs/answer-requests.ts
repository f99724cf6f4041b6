import { setTimeout as delay } from 'node:timers/promises'
import {
  answerRequests,
  hearJobs,
  isPaused,
  isWaiting,
  type JobRequest,
  type RequestAnswer,
  scheduleSince,
} from '../db/runs/job-requests.ts'
import { besideOthers, lastDecided, runningRun } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { channelsOf } from '../pipeline/notify/channels.ts'
import { dueOccurrence } from './due-occurrence.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'
import { JobRefused, triggerJob } from './trigger-run.ts'

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
