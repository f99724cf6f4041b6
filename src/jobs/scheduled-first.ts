import { isPaused } from '../db/runs/job-pauses.ts'
import { isWaiting } from '../db/runs/job-waiting.ts'
import { runningRun } from '../db/runs/start-run.ts'
import type { Deps } from '../pipeline/deps.ts'
import { dueOccurrence } from './due-occurrence.ts'
import { jobsOf, scheduleOf } from './known-jobs.ts'

/** The job that never waits for another one, nor lets one wait. */
const besideOthers = 'housekeeping'

/**
 * Whether a run of the job would take the turn of another job that fell due while a run was under way. What programs
 * ask for lets that one go first: they ask as soon as a run has ended, the schedule looks once a minute, and a night
 * would never get its turn. Who joins a run takes nobody's turn.
 */
export async function wouldTakeTurn({ config, db, now }: Deps, job: string): Promise<boolean> {
  if (job === besideOthers || (await runningRun(db, job)) !== undefined) return false
  for (const { name } of jobsOf(config)) {
    if (name === job || name === besideOthers) continue
    const due = dueOccurrence(name, scheduleOf(config, name), now())
    if (due !== null && (await isWaiting(db, name, due)) && !(await isPaused(db, name))) return true
  }
  return false
}
