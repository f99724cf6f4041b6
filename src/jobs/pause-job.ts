import { type Actor, recordAction } from '../db/actions/record-action.ts'
import type { Database } from '../db/database.ts'
import { lockPause } from '../db/runs/job-requests.ts'

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
    await recordAction(trx, { verb: 'pause', actor, at, rows: 0, asked: { job, ...(reason !== null && { reason }) } })
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
    await recordAction(trx, { verb: 'resume', actor, at, rows: 0, asked: { job } })
    return true
  })
}
