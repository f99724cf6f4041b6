import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { isAmongPending } from '../ledger/pending-rows.ts'
import type { Requires } from '../ledger/requirement.ts'
import { type RowState, rowState } from '../ledger/row-state.ts'

/** How many rows are in one state, and of how many hotels. */
type Need = { state: RowState; rows: number; hotels: number }

/** What is pending now, by state. */
export async function needsOf(db: Database, requires: Requires): Promise<Need[]> {
  const { rows } = await sql<Need>`
    select state, count(*) as rows, count(distinct partner_id) as hotels
    from (
      select row.partner_id, ${rowState(requires)} as state from ledger row where ${isAmongPending()} offset 0
    ) stated
    where state not in ('accepted', 'gone')
    group by state order by rows desc, state limit 20`.execute(db)
  return rows
}

/** How a stream of a run that is under way gets on. */
type StreamStanding = {
  stream: string
  read: number
  changed: number
  pending: number | null
  extracted_at: Date
}

/** The streams that a run has read. */
export async function streamsOfRun(db: Database, runId: number, limit: number): Promise<StreamStanding[]> {
  const { rows } = await sql<StreamStanding>`
    select stream, read, changed, pending, extracted_at from run_stream
    where run_id = ${runId} order by extracted_at, stream limit ${limit}`.execute(db)
  return rows
}
