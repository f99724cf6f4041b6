import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { isAmongPending, isUnmarked, passes, type RowFilter } from './row-state.ts'

export type RetryCounts = { stream: string; rows: number }

/**
 * Rejected as they are, there at the partner, not held by the guard, and not asked about again yet: what a retry can
 * mark. The query must call the row `row`.
 */
function retryable(filter: RowFilter): RawBuilder<boolean> {
  const told = { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` }
  return sql<boolean>`(
    row.pending
    and row.refused_hash = row.desired_hash
    and row.invalid_reason is null
    and row.held_by is null
    and row.gone_at is null
    and row.guard_run is null
    and row.retry_action is null
    and ${passes(filter, told)})`
}

/** How many rows of each stream a retry would mark. */
export async function countRetryable(db: Database, filter: RowFilter): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    select stream, count(*) as rows from ledger row
    where ${isAmongPending('rejected')} and ${retryable(filter)} group by stream order by stream`.execute(db)
  return rows
}

/** Some of the rows that a retry would mark, oldest verdict first. */
export async function retryableRows(
  db: Database,
  filter: RowFilter,
  limit: number,
): Promise<{ stream: string; partner_id: string; row_key: string; code: string | null; reason: string | null }[]> {
  const { rows } = await sql<{
    stream: string
    partner_id: string
    row_key: string
    code: string | null
    reason: string | null
  }>`
    select stream, partner_id, row_key, outcome_code as code, outcome_reason as reason
    from ledger row
    where ${isAmongPending('rejected')} and ${retryable(filter)}
    order by outcome_at, row_id
    limit ${limit}`.execute(db)
  return rows
}

/** Marks rows that were rejected, to be sent again by the next run. @returns how many of each stream. */
export async function markForRetry(
  trx: Transaction<Schema>,
  actionId: number,
  filter: RowFilter,
): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from ledger row
      where row.row_id = acceptance.row_id and ${retryable(filter)} and ${isUnmarked}
      returning row.stream
    )
    select stream, count(*) as rows from marked group by stream order by stream`.execute(trx)
  return rows
}
