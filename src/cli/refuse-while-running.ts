import type { Database } from '../db/database.ts'
import { runInTheWay } from '../db/runs/start-run.ts'
import { nightlySync } from '../jobs/nightly-sync.ts'
import { UsageError } from './cli.ts'

/**
 * Refuses what must not change while a run loads pages, because what it is about may be renewed in this moment.
 * @throws {UsageError} naming the run.
 */
export async function refuseWhileRunning(db: Database, what: string): Promise<void> {
  const running = await runInTheWay(db, nightlySync.name)
  if (running === undefined) return
  throw new UsageError(
    `Run ${running.run_id} is under way and may change what this is about; ${what} when it has ended`,
  )
}
