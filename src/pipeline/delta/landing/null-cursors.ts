import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Keeps by name which ledger rows of a stream come without a cursor: those staged now, for all of them are always read.
 * @param any whether any staged row is one.
 */
export async function noteNullCursors(trx: Transaction<Schema>, stream: string, any: boolean): Promise<void> {
  if (!any) {
    // Few rows, if any, looked up one by one: a join might read the whole ledger.
    await sql`
      delete from null_cursor_row
      where (select stream from source_row where source_row.row_id = null_cursor_row.row_id) = ${stream}`.execute(trx)
    return
  }
  await sql`
    with found as (
      select distinct source_row.row_id
      from staged join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key
      where without_cursor
    ),
    fixed as (
      delete from null_cursor_row
      using source_row
      where source_row.row_id = null_cursor_row.row_id and source_row.stream = ${stream}
        and not exists (select from found where found.row_id = null_cursor_row.row_id)
    )
    insert into null_cursor_row (row_id)
    select row_id from found
    on conflict do nothing`.execute(trx)
}
