import { closeSync, openSync, readSync } from 'node:fs'
import { access, constants } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { PartnerOptions } from './dialect.ts'
import { type PartnerExamination, tablesOf, toldRights } from './examination.ts'
import { unreadableFile } from './partner-errors.ts'

/**
 * Opens a file to read, and begins a transaction.
 * @throws {PartnerDatabaseError} `partner_unreachable`, with what stands in the way and how to remove it.
 */
export function openSqliteFile(options: PartnerOptions): { database: DatabaseSync; path: string } {
  const path = pathOf(options.url)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { readOnly: true, timeout: options.connectTimeoutMs ?? 15_000 })
    database.exec('pragma query_only = on')
    database.exec('begin')
    // The transaction takes its view of the file with its first statement, not with its beginning.
    database.prepare('select count(*) from sqlite_schema').get()
    return { database, path }
  } catch (error) {
    database?.close()
    throw unreadableFile(path, error, remedyOf(path, error))
  }
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url)
  } catch (error) {
    throw unreadableFile('an address that names no file', error, 'Check partner.url (PARTNER_DATABASE_URL).')
  }
}

/** The low byte of the library's codes: who has locks, what would have to be written, what is not to be had. */
const kinds = { busy: 5, locked: 6, readOnly: 8, cannotOpen: 14, notDatabase: 26 }

/** What a person can do about a file that does not open. */
function remedyOf(path: string, error: unknown): string {
  const { busy, locked, readOnly, cannotOpen, notDatabase } = kinds
  const kind = ((error as { errcode?: number }).errcode ?? 0) & 0xff
  if ((kind === readOnly || kind === cannotOpen) && isWal(path)) {
    return `It is in WAL mode, and while no other process has it open, SQLite has to make files in ${dirname(path)}, which this process may not. Run Nightferry as the user who writes the file, let another process keep it open during the run, or give it another journal mode (pragma journal_mode = delete).`
  }
  if (kind === readOnly) {
    return 'The program that writes it ended in the middle of a transaction. Open it once with that program, which rolls back what is left of it.'
  }
  if (kind === busy || kind === locked) {
    return 'Another process keeps it locked: have that one end its transaction, or open the file without pragma locking_mode = exclusive, and run again.'
  }
  if (kind === notDatabase) {
    return 'It is no file of SQLite, or is encrypted. Check partner.url (PARTNER_DATABASE_URL).'
  }
  return 'Check partner.url (PARTNER_DATABASE_URL), and that this user may read the file and its folder.'
}

/** Whether the header of a file says WAL; the library tells it of open files only. */
function isWal(path: string): boolean {
  try {
    const file = openSync(path, 'r')
    try {
      const header = Buffer.alloc(20)
      readSync(file, header, 0, header.length, 0)
      return header[18] === 2
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
}

/** A SQLite file. Anyone who may write the file may change everything in it; the library knows no roles. */
export async function examineSqlite(options: PartnerOptions): Promise<PartnerExamination> {
  const { database, path } = openSqliteFile(options)
  const { version } = database.prepare('select sqlite_version() as version').get() as { version: string }
  return {
    product: `SQLite ${version}`,
    rights: async () => {
      const file = { wal: isWal(path), file: await mayWrite(path), folder: await mayWrite(dirname(path)) }
      return { ...toldRights(file.file ? ['write the file'] : []), file }
    },
    clock: async () => null,
    tables: async () =>
      tablesOf(
        database
          .prepare(
            `select null as "schema", t.name as "table", c.name as "column", lower(c.type) as "type"
             from sqlite_schema t, pragma_table_info(t.name) c
             where t.type in ('table', 'view') and t.name not like 'sqlite\\_%' escape '\\'
             order by t.name, c.cid`,
          )
          .all() as { schema: null; table: string; column: string; type: string }[],
      ),
    close: async () => {
      database.close()
    },
  }
}

function mayWrite(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  )
}
