import { sql, type Transaction } from 'kysely'
import { destinationSchemas, schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Rows of a stream that contradict themselves and were never sent: the table `unsent_row`. The guard does not hold such
 * rows, so nothing marks them as new, and yet no destination has anything of them. To be asked before the rows land.
 * Requests and destinations are looked at where they are kept, because the copies that a plan works on lack some.
 */
export async function findUnsent(trx: Transaction<Schema>, stream: string): Promise<void> {
  const told = (await destinationSchemas(trx)).map(
    (schema) => sql`
      and not exists (
        select from ${sql.id(schema, 'acceptance')} took
        where took.row_id = row.row_id and coalesce(accepted_at, perhaps_taken_at, outcome_at) is not null)`,
  )
  await sql`
    create temp table unsent_row on commit drop as
    select row_id from source_row row
    where stream = ${stream} and contradiction is not null and gone_at is null
      and not exists (select from ${sql.id(schemaName, 'submission_row')} sent where sent.row_id = row.row_id)
      ${sql.join(told, sql` `)}`.execute(trx)
  await sql`analyze unsent_row`.execute(trx)
}

/**
 * Rows of a stream that wait for approval as new, and that were not staged now: the table `missing_row`. To be asked
 * before the rows land.
 */
export async function findMissingNew(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`
    create temp table missing_row on commit drop as
    select row_id from source_row
    where stream = ${stream} and gone_at is null and guard_run is not null and guard_change = 'new'
      and not exists (select from staged where staged.row_key = source_row.row_key)`.execute(trx)
}

/**
 * Rows of `missing_row` with their columns of `source_row`, except those that only ever waited for approval as new, and
 * those of `unsent_row`: nothing of these went anywhere, so the guard has no reason to count them as gone.
 */
export const lostRows = sql`missing_row join source_row using (row_id)
  where guard_change is distinct from 'new'
    and not exists (select from unsent_row where unsent_row.row_id = source_row.row_id)`

/**
 * Sets the tombstones of what is missing. Where the guard holds, `lostRows` wait for approval instead.
 *
 * @returns how many rows got their tombstone.
 */
export async function markMissing(trx: Transaction<Schema>, runId: number, held: boolean): Promise<number> {
  const waits = sql`${held} and guard_change is distinct from 'new' and unsent.row_id is null`
  const { rows } = await sql<{ gone: number }>`
    with marked as (
      update source_row
      set gone_at = case when ${waits} then gone_at else clock_timestamp() end,
          guard_run = case when ${waits} then ${runId}::bigint end,
          guard_change = case when ${waits} then 'gone' end
      from missing_row missing
      left join unsent_row unsent on unsent.row_id = missing.row_id
      where missing.row_id = source_row.row_id
      returning gone_at
    )
    select count(gone_at) as gone from marked`.execute(trx)
  return rows[0]?.gone ?? 0
}
