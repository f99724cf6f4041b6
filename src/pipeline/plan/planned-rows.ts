import { sql } from 'kysely'
import type { Database } from '../../db/database.ts'
import { type Requires, type RowState, rowState } from '../../db/ledger/row-state.ts'
import { schemaName } from '../../db/migrate-to-latest.ts'

export type PlannedRow = {
  stream: string
  partner_id: string
  row_key: string
  /** What the service has accepted; null for a row that is new, or where it is not known any more. */
  from: Record<string, unknown> | null
  to: Record<string, unknown>
}

/** Rows that are planned in a shadow, with what was accepted of them so far, as the real tables know it. */
export async function plannedRows(db: Database, runId: number, limit: number): Promise<PlannedRow[]> {
  const { rows } = await sql<PlannedRow>`
    select row.stream, row.partner_id, row.row_key, row.content as to,
           case when not known.pending then known.content else past.content_before end as from
    from submission
    join submission_row using (submission_id)
    join ledger row using (row_id)
    left join ${sql.id(schemaName, 'ledger')} known on known.row_id = row.row_id
    left join lateral (
      select content_before from ${sql.id(schemaName, 'row_change')} change
      where change.row_id = known.row_id and change.hash_before = known.accepted_hash
      order by changed_at desc
      limit 1
    ) past on true
    where submission.run_id = ${runId} and submission.state = 'planned'
    order by row.accepted_hash is null, row.stream <> 'properties', row.stream, row.partner_id, row.row_id
    limit ${limit}`.execute(db)
  return rows
}

export type StateCount = { stream: string; state: RowState; rows: number }

/** How many rows of each stream are in which state. */
export async function countStates(db: Database, requires: Requires): Promise<StateCount[]> {
  const { rows } = await sql<StateCount>`
    select stream, state, count(*) as rows
    from (select row.stream, ${rowState(requires)} as state from ledger row) stated
    group by stream, state
    order by stream, state`.execute(db)
  return rows
}

export type StreamRead = {
  stream: string
  read: number
  folded: number
  unchanged: number
  changed: number
  null_cursor: number
  gone: number
  returned: number
  pending: number
}

/** What a run has read, stream by stream. */
export async function streamsRead(db: Database, runId: number): Promise<StreamRead[]> {
  return await db
    .selectFrom('run_stream')
    .select(['stream', 'read', 'folded', 'unchanged', 'changed', 'null_cursor', 'gone', 'returned'])
    .select((eb) => eb.fn.coalesce('pending', eb.lit(0)).as('pending'))
    .where('run_id', '=', runId)
    .orderBy('extracted_at')
    .execute()
}
