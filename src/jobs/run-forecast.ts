import { requirementsOf } from '../config/require-settings.ts'
import type { Database } from '../db/database.ts'
import { rowsToGo } from '../db/ledger/rows-to-go.ts'
import { runningRuns } from '../db/runs/run-life.ts'
import { pastSteps, runProgress, type StepTime, stepsDone } from '../db/runs/run-progress.ts'
import type { Run } from '../db/tables/run-tables.ts'
import { unfinishedStates } from '../db/tables/submission-tables.ts'
import type { Deps } from '../pipeline/deps.ts'
import { judgesProperties, kindOf } from '../pipeline/push/kinds.ts'
import { kindNamesOf, searchKinds } from '../pipeline/streams/kind-names.ts'
import { deadlineAfter } from './due-occurrence.ts'
import { stepsOf } from './job.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'

/** By what a run is judged. */
type Settings = Pick<Deps, 'config' | 'contract'>

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
export async function forecasts(db: Database, settings: Settings, now: Date): Promise<RunForecast[]> {
  const found = []
  for (const run of await runningRuns(db)) found.push(await forecastOf(db, settings, run, now))
  return found
}

/** When a run that is under way will end. */
export async function forecastOf(db: Database, settings: Settings, run: Run, now: Date): Promise<RunForecast> {
  const { config } = settings
  const job = jobsOf(config).find(({ name }) => name === run.job)
  const steps = job === undefined ? [] : stepsOf(job, run.asked).map(({ name }) => name)
  const done = await stepsDone(db, run.run_id)
  const share = await shareDone(db, settings, run)
  const standing = { step: run.step, startedAt: run.started_at, steps, done, share, resumed: run.resumed > 0 }
  const endsAt = forecastEnd(standing, await pastSteps(db, run.job, runsLookedAt), now)
  const setting = scheduleOf(config, run.job)
  const begin = run.trigger === 'schedule' || run.trigger === 'missed' ? run.scheduled_for : run.started_at
  const deadline = setting.finishBy === null ? null : deadlineAfter(setting.finishBy, setting.timeZone, begin)
  const late = deadline !== null && (now > deadline || (endsAt !== null && endsAt > deadline))
  const { run_id, step, started_at } = run
  return { run_id, job: run.job, step, started_at, ends_at: endsAt, deadline, late }
}

/** How much of the step at hand is done, where it can be counted. */
async function shareDone(db: Database, { config, contract }: Settings, run: Run): Promise<number | null> {
  if (run.step === 'push') {
    const { rows_settled } = await runProgress(db, run.run_id)
    const streams = run.asked.streams ?? Object.keys(config.streams)
    const kinds = kindNamesOf(contract).map((name) => kindOf(contract, name))
    const together = kinds.filter(judgesProperties).map((kind) => kind.streams)
    const all = await rowsOfPush(db, run.run_id, async () => {
      return rows_settled + (await rowsToGo(db, run.run_id, requirementsOf(config), streams, together))
    })
    return all === null || all === 0 ? null : Math.min(1, rows_settled / all)
  }
  if (run.step !== 'pull') return null
  const { pages, pages_loaded, pages_failed } = await runProgress(db, run.run_id)
  // The pages of a search are known once its task has ended.
  return pages === 0 || (await anySearchUnfinished(db, run.run_id)) ? null : (pages_loaded + pages_failed) / pages
}

/** How many times as long as a count took it holds: many look at a run, and a large ledger is read whole for it. */
const countHolds = 30

const counted = new WeakMap<Database, { runId: number; rows: Promise<number | null>; until: number }>()

/**
 * The rows that a push sends in all, which change little while it sends them; null where they could not be counted.
 * Anyone who asks meanwhile waits for the same count.
 */
async function rowsOfPush(db: Database, runId: number, count: () => Promise<number>): Promise<number | null> {
  const before = counted.get(db)
  if (before?.runId === runId && performance.now() < before.until) return await before.rows
  const began = performance.now()
  const counting = { runId, rows: count().catch(() => null), until: Number.POSITIVE_INFINITY }
  counted.set(db, counting)
  const rows = await counting.rows
  const ended = performance.now()
  counting.until = ended + countHolds * (ended - began)
  return rows
}

async function anySearchUnfinished(db: Database, runId: number): Promise<boolean> {
  const unfinished = await db
    .selectFrom('submission')
    .select('submission_id')
    .where('run_id', '=', runId)
    .where('kind', 'in', searchKinds)
    .where('state', 'in', unfinishedStates)
    .limit(1)
    .executeTakeFirst()
  return unfinished !== undefined
}

/** Where a run stands, as far as its end can be told from it. */
type Standing = {
  step: string
  startedAt: Date
  /** The steps of the run, in their order. */
  steps: readonly string[]
  /** Those that are done. */
  done: readonly StepTime[]
  /** How much of the step at hand is done, 0 to 1; null: nobody can tell. */
  share: number | null
  /** It was interrupted: nobody knows how much of the time since was worked. */
  resumed: boolean
}

/** With less of a step done than this, its speed says nothing. */
const tellingShare = 0.05

/**
 * When a run will end: what is left of the step at hand, by the speed so far or else by how long it took in earlier
 * runs, and the other steps as they took then (the median of the runs). What is left of a step of a run that was
 * interrupted takes as much of the usual time: the speed so far counts hours in which nobody worked. Pure.
 * @param past steps of earlier runs.
 * @returns null if a step that is left was never done before, and so nobody can tell.
 */
export function forecastEnd(
  { step, startedAt, steps, done, share, resumed }: Standing,
  past: readonly StepTime[],
  now: Date,
): Date | null {
  const at = steps.indexOf(step)
  if (at === -1) return null
  const usual = (name: string): number | null =>
    median(past.filter((one) => one.step === name).map((one) => one.ended_at.getTime() - one.began_at.getTime()))
  const began = done.at(-1)?.ended_at ?? startedAt
  const elapsed = now.getTime() - began.getTime()
  // The report is drawn up in a moment, and no run notes how long that takes.
  const known = at === steps.length - 1 ? 0 : usual(step)
  const bySpeed = share !== null && share >= tellingShare ? elapsed / share : null
  const whole = bySpeed ?? known
  if (whole === null) return null
  const byWhatIsLeft = resumed && known !== null && share !== null
  let end = byWhatIsLeft ? now.getTime() + known * (1 - share) : began.getTime() + Math.max(whole, elapsed)
  for (const [index, later] of steps.slice(at + 1).entries()) {
    const ms = usual(later)
    if (ms === null && at + 1 + index < steps.length - 1) return null
    end += ms ?? 0
  }
  return new Date(end)
}

function median(numbers: readonly number[]): number | null {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted[Math.floor(sorted.length / 2)]
  return middle ?? null
}
