import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * When the oldest change was seen that the service has not accepted, whatever it waits for; null: all are accepted.
 * Looks only at rows that are pending, by their index.
 */
export async function oldestUnaccepted(db: Database): Promise<Date | null> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select min(source_row.changed_at) as oldest
    from acceptance join source_row using (row_id)
    where acceptance.accepted_hash is distinct from acceptance.wanted_hash and source_row.gone_at is null`.execute(db)
  return rows[0]?.oldest ?? null
}
