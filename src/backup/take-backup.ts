import type { Writable } from 'node:stream'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type Database, withSession } from '../db/database.ts'
import { migrationNames } from '../db/migration-names.ts'
import { destinationSchemas, requireSchema, schemaName } from '../db/schema-standing.ts'
import { inOrder, storedTables } from '../db/stored-tables.ts'
import { ownRelations, sharedTables } from '../pipeline/destination/copy-empty.ts'
import { type BackupHead, type BackupTable, backupContent, tableSum } from './backup-file.ts'

type TakenBackup = BackupHead & {
  rows: number
  /** Tables in our schemas that somebody else made: not in the backup. */
  leftOut: string[]
}

/** How COPY writes values, whatever the server, the database or the role is set to. */
export const plainTexts = `
  set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local synchronize_seqscans = off;
  set local client_encoding = 'UTF8'; set local quote_all_identifiers = off`

/**
 * Writes a backup of all that Nightferry stores, as it is at one moment, while others work: the tables of the schemas
 * of every destination, streamed from one repeatable-read transaction. The queue is left out: what it asks to look at
 * is in the tables, and a start asks for all of it again.
 *
 * @throws {SchemaMismatch} when the database is not at the schema that this version works with.
 */
export async function takeBackup(
  pool: pg.Pool,
  to: Writable,
  { version, signal }: { version: string; signal: AbortSignal },
): Promise<TakenBackup> {
  return await withSession(pool, async ({ client, db }) => {
    const { tables, leftOut } = await beginReading(client, db)
    const head = { version, ...(await standing(client)), tables }
    let rows = 0
    const rowsOf = async function* (table: BackupTable): AsyncGenerator<Buffer, void> {
      const { add, sum } = tableSum()
      for await (const part of readingOf(client, table)) {
        add(part)
        yield part
      }
      rows += sum().rows
    }
    const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    await pipeline(Readable.from(backupContent(head, rowsOf)), compress, to, { signal })
    await client.query('rollback')
    return { ...head, rows, leftOut }
  })
}

/** The rows of a table, as COPY writes them. */
export function readingOf(client: pg.ClientBase, table: BackupTable): Readable {
  const columns = table.columns.map((column) => client.escapeIdentifier(column)).join(', ')
  return client.query(copyTo(`copy (select ${columns} from ${quoted(client, table)}) to stdout`))
}

export function quoted(client: pg.ClientBase, { schema, name }: Pick<BackupTable, 'schema' | 'name'>): string {
  return `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)}`
}

/**
 * Begins a transaction that sees the tables as they are at one moment, and locks them: nobody moves one to another
 * schema, or changes it, until it was read. Where another destination was put to use between the two, the names lead to
 * tables whose rows that moment does not know, and it begins again.
 */
async function beginReading(client: pg.ClientBase, db: Database): ReturnType<typeof ourTables> {
  for (;;) {
    await client.query('begin isolation level repeatable read, read only')
    await client.query(plainTexts)
    await requireSchema(db)
    const found = await ourTables(client, await destinationSchemas(db))
    const names = found.tables.map((table) => quoted(client, table)).join(', ')
    await client.query(`lock table ${names} in access share mode`)
    // The catalogue is read as of this transaction's moment, to_regclass as of now.
    const { rows } = await client.query(
      `select from unnest($1::text[], $2::text[]) as listed (schema, name)
       join pg_namespace on nspname = listed.schema
       join pg_class on relnamespace = pg_namespace.oid and relname = listed.name
       where to_regclass(format('%I.%I', listed.schema, listed.name))::oid is distinct from pg_class.oid limit 1`,
      [found.tables.map(({ schema }) => schema), found.tables.map(({ name }) => name)],
    )
    if (rows.length === 0) return found
    await client.query('rollback')
  }
}

/** The schema in use first: tables of the others lead there, and none of it leads to them. */
async function ourTables(
  client: pg.ClientBase,
  schemas: readonly string[],
): Promise<{ tables: BackupTable[]; leftOut: string[] }> {
  const known = new Set([...sharedTables, ...ownRelations])
  const tables: BackupTable[] = []
  const leftOut: string[] = []
  for (const schema of [schemaName, ...schemas.filter((name) => name !== schemaName)]) {
    const stored = await storedTables(client, schema)
    leftOut.push(...stored.flatMap(({ name }) => (known.has(name) ? [] : [`${schema}.${name}`])))
    for (const { name, columns } of inOrder(stored.filter((table) => known.has(table.name)))) {
      const table = { schema, name, columns }
      tables.push({ ...table, numbers: await numbersOf(client, table) })
    }
  }
  return { tables, leftOut }
}

async function numbersOf(client: pg.ClientBase, table: Omit<BackupTable, 'numbers'>): Promise<BackupTable['numbers']> {
  const { rows } = await client.query<{ column: string; last: string }>(
    `select listed.name as "column", last_value::text as last
     from unnest($2::text[]) with ordinality as listed(name, nth)
     join pg_sequences on format('%I.%I', schemaname, sequencename) = pg_get_serial_sequence($1, listed.name)
     where last_value is not null order by nth`,
    [quoted(client, table), table.columns],
  )
  return rows
}

async function standing(client: pg.ClientBase): Promise<Omit<BackupHead, 'version' | 'tables'>> {
  const { rows } = await client.query<{ destination: string; at: Date; run: number | null }>(
    `select name as destination, transaction_timestamp() as at,
            (select min(run_id) from run where state = 'running') as run
     from destination where schema_name is null`,
  )
  const [row] = rows
  if (row === undefined) throw new Error('no destination is in use')
  const migration = migrationNames.at(-1) ?? ''
  return { migration, destination: row.destination, takenAt: row.at.toISOString(), runUnderWay: row.run }
}
