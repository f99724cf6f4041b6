import { migrateToLatest } from '../../src/db/migrate-to-latest.ts'
import type { World } from '../helpers/world.ts'

/**
 * The settings of a daemon whose nightly run fell due an hour ago, while none was up: it catches up with it at once.
 */
export async function missedRun(world: World): Promise<Record<string, string>> {
  await migrateToLatest(world.databaseUrl)
  const due = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000)
  // Without a run of the day before, nothing is known to have been missed.
  await world.pool.query(
    `insert into run (job, trigger, scheduled_for, state, step, verdict)
     values ('nightly-sync', 'schedule', $1, 'finished', 'report', 'succeeded')`,
    [new Date(due.getTime() - 24 * 3_600_000)],
  )
  const schedule = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`
  return { ...world.environment(), NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE: schedule }
}
