import { requirementsOf } from '../config/require-settings.ts'
import type { Config } from '../config/schema.ts'
import { type Actor, recordAction } from '../db/actions/record-action.ts'
import type { Database } from '../db/database.ts'
import { oldestUnaccepted } from '../db/ledger/status-counts.ts'
import { lockPause, pausedJobs } from '../db/runs/job-requests.ts'
import { latestRuns } from '../db/runs/newest-runs.ts'
import { nextOccurrence } from './due-occurrence.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'

/** Where each job stands: when it starts next, how its last run went, whether it is paused, and what waits longest. */
export async function jobStandings(db: Database, config: Config, now: Date) {
  const pauses = await pausedJobs(db)
  const latest = await latestRuns(db)
  const jobs = jobsOf(config).map(({ name }) => {
    const setting = scheduleOf(config, name)
    return {
      job: name,
      schedule: setting.schedule,
      time_zone: setting.timeZone,
      next: nextOccurrence(name, setting, now),
      paused: pauses.find(({ job }) => job === name) ?? null,
      last_run: latest.find(({ job }) => job === name) ?? null,
    }
  })
  return { jobs, oldest_unaccepted_since: await oldestUnaccepted(db, requirementsOf(config)) }
}

/**
 * Pauses a job: neither its schedule nor a person starts it until it is resumed. A run that is under way goes on.
 * @returns false when it was paused already; who did it and why then stays.
 */
export async function pauseJob(
  db: Database,
  job: string,
  { actor, at, reason }: { actor: Actor; at: Date; reason: string | null },
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    await lockPause(trx, job)
    const paused = await trx
      .insertInto('job_pause')
      .values({ job, reason, paused_by: actor.user, paused_at: at })
      .onConflict((conflict) => conflict.doNothing())
      .returning('job')
      .executeTakeFirst()
    if (paused === undefined) return false
    const asked = { job, ...(reason !== null && { reason }) }
    await recordAction(trx, { verb: 'pause', actor, at, rows: 0, asked, result: 'paused' })
    return true
  })
}

/**
 * Lets a job start again.
 * @returns false when it was not paused.
 */
export async function resumeJob(
  db: Database,
  job: string,
  { actor, at }: { actor: Actor; at: Date },
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    const resumed = await trx.deleteFrom('job_pause').where('job', '=', job).returning('job').executeTakeFirst()
    if (resumed === undefined) return false
    await recordAction(trx, { verb: 'resume', actor, at, rows: 0, asked: { job }, result: 'resumed' })
    return true
  })
}
