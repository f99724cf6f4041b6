import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, type QueryExecutorProvider, sql, type Transaction } from 'kysely'
import { Migrator } from 'kysely/migration'
import type pg from 'pg'
import { createDatabase, createPool } from './database.ts'
import { DatabaseTrouble, withRemedy } from './database-trouble.ts'
import { migrationNames } from './migration-names.ts'
import { migrations } from './migrations/index.ts'
import { requireKnownSchema, schemaName } from './schema-standing.ts'
import type { Schema } from './tables/database-schema.ts'

export { schemaName } from './schema-standing.ts'

/** A migration failed; the database stands at the last one that succeeded. */
class MigrationError extends Error {
  readonly code = 'migration_failed'
}

/** The database cannot hold every text. The message says how to come to one that can. */
class DatabaseEncoding extends Error {
  readonly code = 'database_encoding'
}

type AppliedMigration = { name: string; applied: boolean }

type MigrateOptions = {
  /** Told, in a sentence for a person, whom the migration waits for. */
  onWaiting?: (sentence: string) => void
  /** How long one statement waits for a lock. Everybody else who wants that table waits behind it. Milliseconds. */
  lockTimeoutMs?: number
  /** How long it is tried again when a lock was not had, in milliseconds. */
  patienceMs?: number
}

const applicationName = 'nightferry migrate'
/** Longer would keep a run waiting that wants the same table; shorter would miss the gaps between its transactions. */
const defaultLockTimeoutMs = 5_000
/** A page is loaded in less, so a run that is under way does not make a migration fail. */
const defaultPatienceMs = 90_000
const lookAtBlockersMs = 250

/**
 * Brings a database to the newest schema. Safe to call from several processes at once: the migrator locks. A lock that
 * another session holds is waited for in short turns, all of the migration again each time.
 * @returns every migration with whether this call applied it.
 * @throws {DatabaseEncoding} when it is not in UTF-8; nothing is changed then.
 * @throws {SchemaMismatch} when a newer version has migrated it; nothing is changed then either.
 * @throws {MigrationError} naming the migration that failed, and who was in its way.
 */
export async function migrateToLatest(url: string, options: MigrateOptions = {}): Promise<AppliedMigration[]> {
  const { lockTimeoutMs = defaultLockTimeoutMs, patienceMs = defaultPatienceMs, onWaiting = () => {} } = options
  const pool = createPool(url, {
    max: 2,
    applicationName,
    searchPath: schemaName,
    lockTimeoutMs,
    onIdleError: () => {},
  })
  const db = createDatabase<unknown>(pool)
  const blockers = watchBlockers(pool, onWaiting)
  try {
    await requireUtf8(db)
    const known = await requireKnownSchema(createDatabase(pool))
    // The migrator reads every column of every table first, which is most of what a verb does at its start.
    if (known.length === migrationNames.length) return known.map((name) => ({ name, applied: false }))
    const giveUpAt = performance.now() + patienceMs
    for (;;) {
      const result = await attempt(db)
      if (!('failed' in result)) return result.migrations
      const { failed, error } = result
      if (!isContended(error)) {
        const trouble = withRemedy(error)
        const said = trouble instanceof DatabaseTrouble ? trouble.message : (error as Error).message
        throw new MigrationError(`${failed} failed: ${said}`, { cause: error })
      }
      if (performance.now() > giveUpAt) {
        throw new MigrationError(
          `${failed} did not get the lock that it needs${blockers.latest()}. End that, or wait until it is done, and then: nightferry migrate. Nothing was changed.`,
          { cause: error },
        )
      }
      await delay(lockTimeoutMs / 10)
    }
  } finally {
    await blockers.stop()
    // Not by way of Kysely: one that was asked nothing leaves the connections of others open.
    await pool.end()
  }
}

/** A lock that was not had in time, and a deadlock, which a migration and the work of a run may come to. */
const contended: ReadonlySet<unknown> = new Set(['55P03', '40P01'])

function isContended(error: unknown): boolean {
  return contended.has((error as { code?: unknown }).code)
}

/**
 * Brings a database to a schema within a transaction of the caller's, which nobody else migrates beside: a process that
 * would waits for its end.
 * @param before called once nobody else can, before anything is made.
 * @param to the name of a migration; the newest if it is left out.
 * @throws {DatabaseEncoding} when the database is not in UTF-8.
 * @throws {MigrationError} naming the migration that failed.
 */
export async function migrateWithin(
  trx: Transaction<Schema>,
  { before = async () => {}, to }: { before?: () => Promise<void>; to?: string },
): Promise<void> {
  await requireUtf8(trx)
  await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(trx)
  await before()
  await sql`create schema if not exists ${sql.id(schemaName)}`.execute(trx)
  const { error, results } = await (to === undefined
    ? migratorOf<Schema>(trx).migrateToLatest()
    : migratorOf<Schema>(trx).migrateTo(to))
  if (error === undefined) return
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'the migration'
  throw new MigrationError(`${failed} failed: ${(error as Error).message}`, { cause: error })
}

/** In another encoding the first name that it has no letters for would stop every night. */
async function requireUtf8(db: QueryExecutorProvider): Promise<void> {
  const { rows } = await sql<{ name: string; encoding: string }>`
    select current_database() as name, current_setting('server_encoding') as encoding`.execute(db)
  const { name = '', encoding = '' } = rows[0] ?? {}
  if (encoding === 'UTF8') return
  throw new DatabaseEncoding(
    `The database ${name} is in ${encoding}, which cannot hold every text; it has to be in UTF8. Make another (createdb --encoding=UTF8 --template=template0) and name it with DATABASE_URL. If the ledger is in ${name} already, move it: nightferry backup from here, with the version that has worked with it until now, and nightferry restore-backup there, with this one. Nothing was changed.`,
  )
}

async function attempt(
  db: Kysely<unknown>,
): Promise<{ migrations: AppliedMigration[] } | { failed: string; error: unknown }> {
  try {
    await createSchema(db)
  } catch (error) {
    if (!isContended(error)) throw error
    return { failed: 'The first migration', error }
  }
  const migrator = migratorOf(db)
  const before = await migrator.getMigrations()
  const { error, results } = await migrator.migrateToLatest()
  if (error !== undefined) {
    const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'the migration'
    return { failed, error }
  }
  const applied = new Set(results?.map((result) => result.migrationName))
  return { migrations: before.map(({ name }) => ({ name, applied: applied.has(name) })) }
}

function migratorOf<T>(db: Kysely<T>): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableSchema: schemaName,
  })
}

/** Looks who is in the way while a migration waits: once it has failed, it waits for nobody. */
function watchBlockers(pool: pg.Pool, onWaiting: (sentence: string) => void) {
  const stopping = new AbortController()
  const { signal } = stopping
  let latest = ''
  const watch = async () => {
    for (;;) {
      await delay(lookAtBlockersMs, undefined, { signal })
      const found = await blockersOf(pool, applicationName)
      const words = found.map((blocker) => blocker.words).join(', ')
      if (words !== '' && words !== latest) onWaiting(`The migration waits for ${words}.`)
      latest = words === '' ? latest : words
    }
  }
  // Whatever ends it, the migration itself says what is wrong with the database.
  const watching = watch().catch(() => {})
  return {
    latest: () => (latest === '' ? '' : `; it is locked by ${latest}`),
    stop: async () => {
      stopping.abort()
      await watching
    },
  }
}

/** The key of the lock that lets one process at a time make the schema. */
export const schemaLock = 4_711_001

async function createSchema(db: Kysely<unknown>): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${schemaLock})`.execute(trx)
    await sql`create schema if not exists ${sql.id(schemaName)}`.execute(trx)
  })
}

/** A session that holds a lock which another one waits for. */
type Blocker = { pid: number; words: string }

/**
 * Whom the sessions of one application wait for in this database, themselves aside. A transaction without a session is
 * not named.
 */
async function blockersOf(pool: pg.Pool, application: string): Promise<Blocker[]> {
  const { rows } = await pool.query<{
    pid: number
    application: string
    role: string | null
    host: string | null
    since: string | null
  }>(
    `select distinct b.pid, b.application_name as application, b.usename as role, host(b.client_addr) as host,
       to_char(b.xact_start at time zone 'UTC', 'HH24:MI:SS') as since
     from pg_stat_activity w
     cross join lateral unnest(pg_blocking_pids(w.pid)) as blocking(pid)
     join pg_stat_activity b on b.pid = blocking.pid
     where w.datname = current_database() and w.application_name = $1 and b.application_name <> $1`,
    [application],
  )
  return rows.map(({ pid, application: name, role, host, since }) => {
    const parts = [
      name === '' ? 'a client without a name' : name,
      role !== null && `role ${role}`,
      host !== null && `from ${host}`,
      since !== null && `in a transaction since ${since} UTC`,
    ]
    return { pid, words: `server process ${pid} (${parts.filter(Boolean).join(', ')})` }
  })
}
