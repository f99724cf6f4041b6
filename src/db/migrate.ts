import { type Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import { createDatabase, createPool } from './database.ts'
import { migrations } from './migrations/index.ts'

/** The schema that holds every table and view of ours. */
export const schemaName = 'nightferry'

/** A migration failed; the database stands at the last one that succeeded. */
export class MigrationError extends Error {
  readonly code = 'migration_failed'
}

export type AppliedMigration = { name: string; applied: boolean }

/**
 * Brings a database to the newest schema. Safe to call from several processes at once: the migrator locks.
 * @returns every migration with whether this call applied it.
 * @throws {MigrationError} naming the migration that failed.
 */
export async function migrateToLatest(url: string): Promise<AppliedMigration[]> {
  const pool = createPool(url, {
    max: 2,
    applicationName: 'nightferry migrate',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const db = createDatabase<unknown>(pool)
  try {
    await createSchema(db)
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => migrations },
      migrationTableSchema: schemaName,
    })
    const before = await migrator.getMigrations()
    const { error, results } = await migrator.migrateToLatest()
    if (error !== undefined) {
      const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'the migration'
      throw new MigrationError(`${failed} failed: ${(error as Error).message}`, { cause: error })
    }
    const applied = new Set(results?.map((result) => result.migrationName))
    return before.map(({ name }) => ({ name, applied: applied.has(name) }))
  } finally {
    await db.destroy()
  }
}

const schemaLock = 4_711_001

async function createSchema(db: Kysely<unknown>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(trx)
    await sql`create schema if not exists ${sql.id(schemaName)}`.execute(trx)
  })
}
