import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { withSession } from '../db/database.ts'
import { migrateWithin, schemaName } from '../db/migrate-to-latest.ts'
import { migrationNames } from '../db/migration-names.ts'
import { makeWaiting } from '../pipeline/destination/switch-destination.ts'
import {
  type BackupHead,
  type BackupReader,
  BackupRefused,
  type BackupTable,
  isSameSum,
  type TableSum,
  tableSum,
} from './backup-file.ts'
import { plainTexts, quoted, readingOf } from './take-backup.ts'

/**
 * Restores a backup into an empty database, wholly or not at all: the schema of the time at which it was taken, its
 * rows, the numbers that new rows go on from, and then the newest schema. What was loaded is read again and compared
 * with the backup before anything of it can be seen.
 *
 * @returns how many rows there are.
 * @throws {BackupRefused} when the database holds anything, and when the backup is damaged or of a newer version.
 */
export async function restoreBackup(pool: pg.Pool, backup: BackupReader, signal: AbortSignal): Promise<number> {
  const { head } = backup
  refuseNewer(head)
  const rows = await withSession(pool, async ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      await client.query(plainTexts)
      await migrateWithin(trx, { before: () => refuseFilled(client), to: head.migration })
      const waiting = Map.groupBy(head.tables, ({ schema }) => schema)
      for (const [schema, tables] of waiting) {
        if (schema === schemaName) continue
        await makeWaiting(
          trx,
          schema,
          tables.map(({ name }) => name),
        )
      }
      await client.query(`truncate ${head.tables.map((table) => quoted(client, table)).join(', ')} cascade`)
      const loaded: TableSum[] = []
      for (const table of head.tables) loaded.push(await load(client, table, backup.rows(), signal))
      const sums = await backup.sums()
      for (const [nth, table] of head.tables.entries()) {
        if (!isSameSum(loaded[nth] as TableSum, sums[nth] as TableSum)) throw damaged(table, 'is not as it was written')
        if (!isSameSum(await sumOf(client, table), sums[nth] as TableSum)) {
          throw damaged(table, 'reads otherwise from this database')
        }
      }
      await migrateWithin(trx, {})
      return sums.reduce((sum, one) => sum + one.rows, 0)
    }),
  ).catch((error: unknown) => {
    // A file that is not read to its end then is not cut short.
    signal.throwIfAborted()
    throw error
  })
  await pool.query('analyze')
  return rows
}

function damaged({ schema, name }: BackupTable, how: string): BackupRefused {
  return new BackupRefused('backup_unusable', `The table ${schema}.${name} of the backup ${how}. Nothing was changed.`)
}

/** Of a schema that is not known, nobody could read the tables. */
function refuseNewer({ version, migration }: BackupHead): void {
  if ((migrationNames as readonly string[]).includes(migration)) return
  throw new BackupRefused(
    'backup_newer',
    `The backup was taken by Nightferry ${version} at the schema ${migration}, and this version knows only ${migrationNames.at(-1)}. Restore it with that version, or a newer one.`,
  )
}

/** Extensions aside, which an administrator makes before. */
async function refuseFilled(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ what: string }>(
    `select format('%s %I.%I', case relkind when 'v' then 'the view' when 'S' then 'the sequence' else 'the table' end,
                   nspname, relname) as what
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'p', 'v', 'm', 'S', 'f') and nspname !~ '^pg_' and nspname <> 'information_schema'
       and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
     union all
     select format('the schema %I', nspname) from pg_namespace where nspname ~ '^nightferry'
     order by 1 limit 1`,
  )
  const [found] = rows
  if (found === undefined) return
  throw new BackupRefused(
    'database_not_empty',
    `The database holds ${found.what}, and a backup is restored into an empty database only. Make one, and name it with DATABASE_URL or database.name. Nothing was changed.`,
  )
}

/** Triggers stay off: the database is to hold what the backup holds, and nothing that comes of its being written. */
async function load(
  client: pg.ClientBase,
  table: BackupTable,
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<TableSum> {
  const name = quoted(client, table)
  const columns = table.columns.map((column) => client.escapeIdentifier(column)).join(', ')
  const { add, sum } = tableSum()
  const counted = async function* (): AsyncGenerator<Buffer, void> {
    for await (const part of rows) {
      add(part)
      yield part
    }
  }
  await client.query(`alter table ${name} disable trigger user`)
  await pipeline(Readable.from(counted()), client.query(copyFrom(`copy ${name} (${columns}) from stdin`)), { signal })
  await client.query(`alter table ${name} enable trigger user`)
  for (const { column, last } of table.numbers) {
    await client.query('select setval(pg_get_serial_sequence($1, $2), $3)', [name, column, last])
  }
  return sum()
}

async function sumOf(client: pg.ClientBase, table: BackupTable): Promise<TableSum> {
  const { add, sum } = tableSum()
  for await (const part of readingOf(client, table)) add(part as Buffer)
  return sum()
}
