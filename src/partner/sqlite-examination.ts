import { access, constants } from 'node:fs/promises'
import type { PartnerOptions } from './dialect.ts'
import { type PartnerExamination, tablesOf, toldRights } from './examination.ts'
import { openSqliteFile } from './sqlite-snapshot.ts'

/** A SQLite file. Anyone who may write the file may change everything in it; the library knows no roles. */
export async function examineSqlite(options: PartnerOptions): Promise<PartnerExamination> {
  const { database, path } = openSqliteFile(options)
  const { version } = database.prepare('select sqlite_version() as version').get() as { version: string }
  return {
    product: `SQLite ${version}`,
    rights: async () => {
      const writable = await access(path, constants.W_OK).then(
        () => true,
        () => false,
      )
      return toldRights(writable ? ['write the file (Nightferry opens it to read only)'] : [])
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
