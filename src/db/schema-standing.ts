import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from './database.ts'
import { migrationNames } from './migration-names.ts'

const known: ReadonlySet<string> = new Set(migrationNames)

/** The schema that holds every table and view of ours. */
export const schemaName = 'nightferry'

/** The database's schema is not the one that this version works with. The message says what to do. */
export class SchemaMismatch extends Error {
  readonly code: 'schema_missing' | 'schema_older' | 'schema_newer' | 'queue_missing'

  constructor(code: SchemaMismatch['code'], message: string) {
    super(message)
    this.name = 'SchemaMismatch'
    this.code = code
  }
}

const remedy = '`nightferry migrate` brings it up to date, and so do `run` and `serve` when they start.'

/** What is said of a database that holds nothing of ours. */
export function schemaMissing(): SchemaMismatch {
  return new SchemaMismatch(
    'schema_missing',
    "Nightferry's database has no tables yet. `nightferry migrate` makes them, and so do `run` and `serve` when they start.",
  )
}

/**
 * Makes sure that the schema is just the one that this version works with.
 * @throws {SchemaMismatch} saying how it differs.
 */
export async function requireSchema(db: Database): Promise<void> {
  const applied = await appliedMigrations(db)
  refuseNewer(applied)
  if (applied.length === 0) throw schemaMissing()
  refuseOlder(applied)
}

/**
 * Makes sure that no newer version has migrated the database.
 * @returns the names of the migrations that it has, in order; none where nothing was ever migrated.
 * @throws {SchemaMismatch} `schema_newer`, naming both schemas.
 */
export async function requireKnownSchema(db: Database): Promise<string[]> {
  const applied = await appliedMigrations(db)
  refuseNewer(applied)
  return applied
}

function refuseOlder(applied: readonly string[]): void {
  if (applied.length === migrationNames.length) return
  throw new SchemaMismatch(
    'schema_older',
    `Nightferry's database stands at the schema ${applied.at(-1)}, and this version works with ${migrationNames.at(-1)}. ${remedy}`,
  )
}

/**
 * Makes sure that a process which works finds what it found at its start. A backup may have been restored under it: an
 * old schema, or one without the queue, or with one that another process has made since. Nothing is said of an empty
 * database, for one may be restored into it yet, and a start would fill it.
 * @param queue the queue that was found before; null: none was looked for.
 * @returns the queue that is there, as the number of its table; null over an empty database.
 * @throws {SchemaMismatch} saying what is not as it was.
 */
async function requireKept(db: Database, queue: number | null): Promise<number | null> {
  const applied = await requireKnownSchema(db)
  if (applied.length === 0) return null
  refuseOlder(applied)
  const { rows } = await sql<{ found: number | null }>`
    select to_regclass(${`${schemaName}_queue.job`})::oid::int8 as found`.execute(db)
  const found = rows[0]?.found ?? null
  if (found !== null && (queue === null || found === queue)) return found
  throw new SchemaMismatch(
    'queue_missing',
    "The queue of Nightferry's database is gone, as when a backup was restored while this process was at work. Start it again: each start makes the queue, and goes on with what is under way.",
  )
}

function refuseNewer(applied: readonly string[]): void {
  const newer = applied.filter((name) => !known.has(name))
  if (newer.length === 0) return
  throw new SchemaMismatch(
    'schema_newer',
    `A newer version of Nightferry has migrated the database to ${newer.at(-1)}, and this version knows only ${migrationNames.at(-1)}. Use the newer version on it. Everything is kept, and the newer version goes on with what is under way.`,
  )
}

/** In the order of their names; none where nothing was ever migrated. */
async function appliedMigrations(db: Database): Promise<string[]> {
  const { rows } = await sql<{ found: boolean }>`
    select to_regclass(${`${schemaName}.kysely_migration`}) is not null as found`.execute(db)
  if (rows[0]?.found !== true) return []
  const applied = await sql<{ name: string }>`
    select name from ${sql.id(schemaName, 'kysely_migration')} order by name`.execute(db)
  return applied.rows.map(({ name }) => name)
}

type SchemaWatch = {
  /** Aborts, with the error as its reason, once the database was migrated by a newer version, or replaced. */
  lost: AbortSignal
  /** Looks at once. @throws {SchemaMismatch} when that is so. */
  check: () => Promise<void>
  stop: () => void
}

/**
 * Looks now and then whether a newer version has migrated the database under this process, or a backup was restored in
 * its place: it must not go on then.
 */
export function watchSchema(db: Database, intervalMs: number): SchemaWatch {
  const lost = new AbortController()
  const stopping = new AbortController()
  let queue: number | null = null
  const check = async () => {
    try {
      queue = (await requireKept(db, queue)) ?? queue
    } catch (error) {
      if (error instanceof SchemaMismatch) lost.abort(error)
      throw error
    }
  }
  const watch = async () => {
    await check().catch(() => {})
    while (!stopping.signal.aborted && !lost.signal.aborted) {
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      // A database that is away is told of elsewhere; the next look asks again.
      if (!stopping.signal.aborted) await check().catch(() => {})
    }
  }
  void watch()
  return { lost: lost.signal, check, stop: () => stopping.abort() }
}

/** The schemas of the destinations that are there, that in use among them: a backup may have left out what waits. */
export async function destinationSchemas(db: Database): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from (select coalesce(schema_name, ${schemaName}) as name from destination) known
    where to_regclass(format('%I.acceptance', name)) is not null`.execute(db)
  return rows.map(({ name }) => name)
}
