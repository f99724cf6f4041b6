import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

const wasLetThrough = sql`guard_change is distinct from 'new'`

/**
 * Rows of `missing_row` with their columns of `source_row`, except those that only ever waited for approval as new:
 * nothing of these went anywhere, so the guard has no reason to count them as gone.
 */
export const lostRows = sql`missing_row join source_row using (row_id) where ${wasLetThrough}`

/**
 * Sets the tombstones of what is missing. Where the guard holds, `lostRows` wait for approval instead.
 *
 * @returns how many rows got their tombstone.
 */
export async function markMissing(trx: Transaction<Schema>, runId: number, held: boolean): Promise<number> {
  const waits = sql`${held} and ${wasLetThrough}`
  const { rows } = await sql<{ gone: number }>`
    with marked as (
      update source_row
      set gone_at = case when ${waits} then gone_at else clock_timestamp() end,
          guard_run = case when ${waits} then ${runId}::bigint end,
          guard_change = case when ${waits} then 'gone' end
      from missing_row
      where missing_row.row_id = source_row.row_id
      returning gone_at
    )
    select count(gone_at) as gone from marked`.execute(trx)
  return rows[0]?.gone ?? 0
}
