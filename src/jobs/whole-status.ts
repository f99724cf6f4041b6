import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { pausedJobs } from '../db/runs/job-requests.ts'
import { oldestUnaccepted } from '../db/runs/oldest-unaccepted.ts'
import { runningRuns } from '../db/runs/start-run.ts'
import { standingOf } from '../pipeline/report/standing.ts'
import type { RunForecast } from './run-forecast.ts'

/** What `nightferry status` and `GET /v1/status` show: the ledger, when runs under way will end, and what is paused. */
export async function statusOf(db: Database, config: Config, now: Date) {
  return {
    ...(await standingOf(db, config)),
    forecasts: await forecastsNow(db, config, now),
    paused: await pausedJobs(db),
    oldest_unaccepted_since: await oldestUnaccepted(db),
  }
}

/** What a run consists of takes long to load, and mostly none is under way when somebody looks. */
async function forecastsNow(db: Database, config: Config, now: Date): Promise<RunForecast[]> {
  if ((await runningRuns(db)).length === 0) return []
  const { forecasts } = await import('./run-forecast.ts')
  return await forecasts(db, config, now)
}
