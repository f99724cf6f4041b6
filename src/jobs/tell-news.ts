import { setTimeout as delay } from 'node:timers/promises'
import { isTelling, scheduleSince } from '../db/runs/job-requests.ts'
import { runningRun } from '../db/runs/run-life.ts'
import type { Deps } from '../pipeline/deps.ts'
import { channelsOf } from '../pipeline/notify/channels.ts'
import { deliverDue } from '../pipeline/notify/deliver.ts'
import { beginNoting, noteEnds, noteLate, noteSlow } from '../pipeline/notify/note-ends.ts'
import { dueOccurrence } from './due-occurrence.ts'
import type { Job } from './job.ts'
import { scheduleOf } from './known-jobs.ts'
import { forecastOf } from './run-forecast.ts'
import { lingerMs } from './watch-clock.ts'

/** How often a daemon looks whether there is something to tell. Milliseconds. */
const intervalMs = 15_000

/** How often news is looked for after that failed: what prevented it lasts longer. Milliseconds. */
const afterTroubleMs = 60_000

/** Also a job that only a run of it knows: the configuration has it no longer. */
type Told = Pick<Job, 'name'>

function isAnyoneTold({ config }: Deps): boolean {
  return channelsOf(config.notify).length > 0 || channelsOf(config.notify, true).length > 0
}

/** To be called before a run begins: it is the first whose end people are told of, if they are told of any. */
export async function expectNews(deps: Deps, job: Told): Promise<void> {
  if (isAnyoneTold(deps)) await beginNoting(deps.db, job.name)
}

/**
 * Tells people what is new of a job: how its runs ended, and that one is late. Never throws, because a
 * run ended as it did whether or not people were told.
 * @returns false if it could not look.
 */
export async function tellNews(deps: Deps, job: Told, signal?: AbortSignal): Promise<boolean> {
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
export async function tellWhereNobodyDoes(deps: Deps, job: Told, signal: AbortSignal): Promise<void> {
  if (isAnyoneTold(deps) && (await isTelling(deps.db, job.name).catch(() => false))) return
  await tellNews(deps, job, signal)
}

/** Tells that the run under way will end after its deadline. */
async function tellSlow(deps: Deps, job: Told): Promise<void> {
  if (scheduleOf(deps.config, job.name).finishBy === null) return
  const run = await runningRun(deps.db, job.name)
  if (run === undefined) return
  const { ends_at, deadline, late } = await forecastOf(deps.db, deps, run, deps.now())
  if (late && deadline !== null) await noteSlow(deps, { ...run, ends_at, deadline })
}

/** Tells people what is new of a job for as long as a daemon is up. Several daemons share it. */
export function startNotices(deps: Deps, job: Told): { stop: () => Promise<void> } {
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
