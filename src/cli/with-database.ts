import type { Config } from '../config/schema.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'
import { readConfig } from './read-config.ts'

/** Opens the configured database for a verb that only looks, and closes it however the verb ends. */
export async function withDatabase<T>(
  cli: Cli,
  options: CommonOptions,
  work: (database: OpenDatabase, config: Config) => Promise<T>,
): Promise<T> {
  const config = readConfig(cli, options)
  const database = await openDatabase(cli, config)
  try {
    return await work(database, config)
  } finally {
    await database.close()
  }
}
