import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * When the oldest change was seen that the service has not accepted, whatever it waits for; null: all are accepted.
 * Looks only at rows that are pending, by their index: as an array, which the planner takes for short. It takes nearly
 * every row for pending, and a join would read all of a large ledger.
 */
export async function oldestUnaccepted(db: Database): Promise<Date | null> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select min(changed_at) as oldest from source_row
    where gone_at is null
      and row_id = any(array(select row_id from acceptance where accepted_hash is distinct from wanted_hash))`.execute(
    db,
  )
  return rows[0]?.oldest ?? null
}
