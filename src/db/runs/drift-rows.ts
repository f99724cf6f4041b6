import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** A row that the service has, or may have, and the partner has no longer. */
type DriftRow = {
  stream: string
  partner_id: string
  row_key: string
  content: Record<string, unknown>
  accepted_at: Date | null
  outcome: string | null
  gone_since: Date
}

/** What is at the service and no longer at the partner, newest first. */
export async function driftRows(db: Database, stream: string | null, limit: number): Promise<DriftRow[]> {
  const { rows } = await sql<DriftRow>`
    select * from drift
    where ${stream}::text is null or stream = ${stream}
    order by gone_since desc, stream, row_key
    limit ${limit}`.execute(db)
  return rows
}
