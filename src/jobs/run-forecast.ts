import { sql } from 'kysely'
import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { runProgress } from '../db/runs/progress.ts'
import { pastSteps, stepsDone } from '../db/runs/run-steps.ts'
import { runningRuns } from '../db/runs/start-run.ts'
import type { Run } from '../db/tables/run-tables.ts'
import { deadlineAfter } from './due-occurrence.ts'
import { forecastEnd } from './forecast-end.ts'
import { stepsOf } from './job.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'

/** How many earlier runs say how long a step takes. */
const runsLookedAt = 10

export type RunForecast = {
  run_id: number
  job: string
  step: string
  started_at: Date
  /** When the run will end at this speed; null: nobody can tell yet. */
  ends_at: Date | null
  /** When it has to have ended, by `finishBy` of its job; null: it has no deadline. */
  deadline: Date | null
  /** Whether it will, or has, passed its deadline. */
  late: boolean
}

/** When the runs that are under way will end, at the speed that they have. */
export async function forecasts(db: Database, config: Config, now: Date): Promise<RunForecast[]> {
  const found = []
  for (const run of await runningRuns(db)) found.push(await forecastOf(db, config, run, now))
  return found
}

/** When a run that is under way will end. */
export async function forecastOf(db: Database, config: Config, run: Run, now: Date): Promise<RunForecast> {
  const job = jobsOf(config).find(({ name }) => name === run.job)
  const steps = job === undefined ? [] : stepsOf(job, run.asked).map(({ name }) => name)
  const done = await stepsDone(db, run.run_id)
  const share = await shareDone(db, run)
  const standing = { step: run.step, startedAt: run.started_at, steps, done, share }
  const endsAt = forecastEnd(standing, await pastSteps(db, run.job, runsLookedAt), now)
  const setting = scheduleOf(config, run.job)
  const begin = run.trigger === 'schedule' || run.trigger === 'missed' ? run.scheduled_for : run.started_at
  const deadline = setting.finishBy === null ? null : deadlineAfter(setting.finishBy, setting.timeZone, begin)
  const late = deadline !== null && (now > deadline || (endsAt !== null && endsAt > deadline))
  const { run_id, step, started_at } = run
  return { run_id, job: run.job, step, started_at, ends_at: endsAt, deadline, late }
}

/** How much of the step at hand is done, where it can be counted. */
async function shareDone(db: Database, run: Run): Promise<number | null> {
  if (run.step === 'push') {
    const { rows_settled, rows_planned } = await runProgress(db, run.run_id)
    const { rows } = await sql<{ pending: number }>`
      select coalesce(sum(pending), 0)::float8 as pending from run_stream where run_id = ${run.run_id}`.execute(db)
    const all = Math.max(rows_planned, rows[0]?.pending ?? 0)
    return all === 0 ? null : rows_settled / all
  }
  if (run.step !== 'pull') return null
  const { pages, pages_loaded } = await runProgress(db, run.run_id)
  return pages === 0 ? null : pages_loaded / pages
}
