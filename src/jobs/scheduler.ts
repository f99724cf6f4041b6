import { type ScheduledTask, schedule as tickEvery } from 'node-cron'
import { insertSkippedRun, runningRun } from '../db/runs/start-run.ts'
import type { Deps } from '../pipeline/deps.ts'
import { dueOccurrence } from './due-occurrence.ts'
import type { Job } from './job.ts'
import { triggerRun } from './trigger-run.ts'

/**
 * An occurrence found this long after it fell due was missed: no daemon was up. Two ticks of grace, in milliseconds.
 */
const missedAfterMs = 120_000

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
    await deps.readClock?.()
    const now = deps.now()
    const due = dueOccurrence(job.name, setting, now)
    if (due === null || (await alreadyDecided(deps, job, due, since))) return
    // It waits for the run that is under way; the next tick finds it still due.
    if ((await runningRun(deps.db, job.name)) !== undefined) return
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
  return {
    tick,
    stop: async () => {
      await task.destroy()
    },
  }
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
