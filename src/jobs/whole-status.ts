import { carryingJobs } from '../config/known-names.ts'
import type { Config } from '../config/schema.ts'
import type { Database, Hurry } from '../db/database.ts'
import { pausedJobs } from '../db/runs/job-requests.ts'
import { requestTroubles } from '../db/runs/request-troubles.ts'
import { runningRuns } from '../db/runs/run-life.ts'
import type { Contract } from '../exchange/contract.ts'
import { whatIsCompared } from '../pipeline/compare/what-is-compared.ts'
import { newestOfJobs, runToTell, type Standing, standingOf, withRemarks } from '../pipeline/report/standing.ts'
import { troubleShownAfterMs } from '../pipeline/report/trouble-words.ts'
import type { RunForecast } from './run-forecast.ts'

/**
 * What `nightferry status` and `GET /v1/status` show: the ledger, what requests of runs under way wait for, when these
 * runs will end, what is paused, what is sent and not compared, and of each job that carries the data the newest run
 * (`carrying_runs`), with that of them by which the night is judged.
 */
export async function statusOf(db: Database, config: Config, contract: Contract, now: Date, hurry: Hurry) {
  const standing = await standingOf(db, config, hurry)
  const carrying = (await newestOfJobs(db, carryingJobs(config))).map(withRemarks)
  return {
    ...standing,
    last_night: runToTell(carrying) ?? null,
    carrying_runs: carrying,
    troubles: (await requestTroubles(db, now, troubleShownAfterMs)).map((one) => ({
      ...one,
      until: new Date(one.since.getTime() + config.exchange.giveUpAfterMs),
    })),
    forecasts: await forecastsNow(db, { config, contract }, now),
    paused: await pausedJobs(db),
    oldest_unaccepted_since: oldestOf(standing.streams),
    not_compared: whatIsCompared(contract, config).kinds.flatMap(({ kind, streams, lack }) =>
      lack === null ? [] : [{ kind, streams, ...lack }],
    ),
  }
}

/** When the oldest change was seen that the service has not accepted; null: all are accepted. */
function oldestOf(streams: Standing['streams']): Date | null {
  const moments = streams.flatMap(({ oldest_pending: oldest }) => (oldest === null ? [] : [oldest]))
  return moments.reduce<Date | null>((first, next) => (first === null || next < first ? next : first), null)
}

/** What a run consists of takes long to load, and mostly none is under way when somebody looks. */
const loadForecasts = () => import('./run-forecast.ts')

/** Loads what `statusOf` needs while a run is under way, for a process that lives long: see `loadDialect`. */
export async function loadForStatus(): Promise<void> {
  await loadForecasts()
}

type Settings = { config: Config; contract: Contract }

async function forecastsNow(db: Database, settings: Settings, now: Date): Promise<RunForecast[]> {
  if ((await runningRuns(db)).length === 0) return []
  const { forecasts } = await loadForecasts()
  return await forecasts(db, settings, now)
}
