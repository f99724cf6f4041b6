import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { unknownCodeInKey } from '../../streams/rules/unknown-code.ts'

/** Whether the key of a row has a code that no lookup knows: such a row is never sent, and never was. */
export function hasUnknownCode(rowKey: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(strpos(${rowKey}, ${unknownCodeInKey}) > 0)`
}

/**
 * Of a part whose name is an unknown code, and which is a row of its own therefore, the key of the row that it would be
 * a part of: that row's key has all but the name, which is the last text of the list.
 */
function keyWithoutName(rowKey: RawBuilder<unknown>): RawBuilder<string> {
  return sql`regexp_replace(${rowKey}, ${',"(?:[^"\\\\]|\\\\.)*"\\]$'}, ']')`
}

/**
 * A query for the keys of rows of which a part may be there under a code that no lookup knows. What such a row lacks is
 * not gone, so nothing of it may be taken back.
 * @param staged whether all rows of the hotels that are staged are; otherwise the ledger has the others, but for those
 *   in the table `missing_row`.
 */
export function withUnknownParts(stream: string, staged: boolean): RawBuilder<unknown> {
  const known = sql`
    union
    select ${keyWithoutName(sql`known.row_key`)} from source_row known
    where known.stream = ${stream} and known.partner_id in (select partner_id from staged)
      and known.gone_at is null and ${hasUnknownCode(sql`known.row_key`)}
      and not exists (select from missing_row where missing_row.row_id = known.row_id)`
  return sql`
    select distinct ${keyWithoutName(sql`row_key`)} as row_key from staged where ${hasUnknownCode(sql`row_key`)}
    ${staged ? sql`` : known}`
}

/**
 * Adds to `vanished_row`, as rows that lost no line, what may have waited for a row of an unknown code that vanished
 * now: nothing was taken back there meanwhile, so all lines of it are needed.
 * @returns whether there is any.
 */
export async function addWaiting(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into vanished_row (row_id, lost_line)
    select row_id, false from source_row
    where stream = ${stream} and gone_at is null
      and row_key in (
        select ${keyWithoutName(sql`unknown.row_key`)}
        from vanished_row join source_row unknown using (row_id)
        where ${hasUnknownCode(sql`unknown.row_key`)}
      )
      and not exists (select from vanished_row where vanished_row.row_id = source_row.row_id)`.execute(trx)
  return numAffectedRows > 0n
}
