import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { pausedJobs } from '../db/runs/job-requests.ts'
import { latestRuns } from '../db/runs/latest-runs.ts'
import { oldestUnaccepted } from '../db/runs/oldest-unaccepted.ts'
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
  return { jobs, oldest_unaccepted_since: await oldestUnaccepted(db) }
}
