import type { Config } from '../config/schema.ts'
import type { Database } from '../db/database.ts'
import { runInTheWay } from '../db/runs/start-run.ts'
import { nightlySync } from '../jobs/nightly-sync.ts'
import { type Cli, type CommonOptions, UsageError } from './cli.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'
import { readConfig } from './read-config.ts'

/**
 * Opens the configured database for a verb, and closes it however the verb ends. The schema must be the newest.
 * @param access `write` for a verb that does more than look.
 * @throws {SchemaMismatch} when the schema is another one.
 */
export async function withDatabase<T>(
  cli: Cli,
  options: CommonOptions,
  work: (database: OpenDatabase, config: Config) => Promise<T>,
  access: 'read' | 'write' = 'read',
): Promise<T> {
  const config = readConfig(cli, options)
  const database = await openDatabase(cli, config, { access })
  try {
    return await work(database, config)
  } finally {
    await database.close()
  }
}

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
