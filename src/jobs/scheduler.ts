import { CronExpressionParser } from 'cron-parser'
import { type ScheduledTask, schedule as tickEvery } from 'node-cron'
import { ConfigError } from '../config/config-error.ts'
import type { Config } from '../config/schema.ts'
import { insertSkippedRun } from '../db/runs/start-run.ts'
import type { Deps } from '../pipeline/deps.ts'
import type { Job } from './job.ts'
import { triggerRun } from './trigger-run.ts'

type Schedule = Config['jobs'][Job['name']]

/** An occurrence found this long after it fell due was missed: no daemon was up. Two ticks of grace, in milliseconds. */
const missedAfterMs = 120_000

/**
 * The newest occurrence of a schedule that has fallen due, or null. Pure but for the library's calendar: what is due is
 * decided here and by the table of runs, never by whether a tick came.
 * @throws {ConfigError} when the expression or the time zone is none.
 */
export function dueOccurrence(name: string, { schedule, timeZone }: Schedule, now: Date): Date | null {
  if (schedule === null) return null
  try {
    const following = new Date(now.getTime() + 1)
    return CronExpressionParser.parse(schedule, { currentDate: following, tz: timeZone }).prev().toDate()
  } catch (error) {
    throw new ConfigError('The schedule cannot be used:', [
      { path: `jobs.${name}.schedule`, message: `'${schedule}' in ${timeZone}: ${(error as Error).message}` },
    ])
  }
}

/**
 * Starts what falls due, once a minute and at once. The unique (job, scheduled_for) decides which of several daemons
 * does. A new installation begins with the first occurrence after `since`, its own start.
 */
export function startScheduler(
  deps: Deps,
  job: Job,
  since: Date,
): { tick: () => Promise<void>; stop: () => Promise<void> } {
  const setting = deps.config.jobs[job.name]
  dueOccurrence(job.name, setting, deps.now())
  const tick = async (): Promise<void> => {
    const now = deps.now()
    const due = dueOccurrence(job.name, setting, now)
    if (due === null || (await alreadyDecided(deps, job, due, since))) return
    const missed = now.getTime() - due.getTime() > missedAfterMs
    if (missed && setting.missed === 'skip') {
      await insertSkippedRun(deps.db, job.name, due)
      deps.logger.warn({ job: job.name, scheduled_for: due }, 'run_skipped')
      return
    }
    await triggerRun(deps, job, missed ? 'missed' : 'schedule', due)
  }
  const guarded = () =>
    tick().catch((error: Error) => deps.logger.error({ job: job.name, error: error.message }, 'tick_failed'))
  const task: ScheduledTask = tickEvery('* * * * *', guarded, { timezone: 'UTC' })
  void guarded()
  return { tick, stop: async () => void (await task.destroy()) }
}

async function alreadyDecided(deps: Deps, job: Job, due: Date, since: Date): Promise<boolean> {
  const last = await deps.db
    .selectFrom('run')
    .select('scheduled_for')
    .where('job', '=', job.name)
    .where('trigger', 'in', ['schedule', 'missed'])
    .orderBy('scheduled_for', 'desc')
    .limit(1)
    .executeTakeFirst()
  return due <= (last?.scheduled_for ?? since)
}
