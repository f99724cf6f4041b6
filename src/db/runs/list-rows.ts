import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Requires } from '../ledger/requirement.ts'
import { rowState } from '../ledger/row-state.ts'
import type { Run } from '../tables/run.ts'

/** The newest runs, newest first. */
export async function newestRuns(db: Database, limit: number): Promise<Run[]> {
  return await db.selectFrom('run').selectAll().orderBy('run_id', 'desc').limit(limit).execute()
}

export async function runExists(db: Database, runId: number): Promise<boolean> {
  return (await db.selectFrom('run').select('run_id').where('run_id', '=', runId).executeTakeFirst()) !== undefined
}

export type StatusCounts = {
  stream: string
  rows: number
  accepted: number
  pending: number
  invalid: number
  parked: number
  rejected: number
  /** Nobody can say what became of them; the next run sends them again. */
  unknown: number
  in_flight: number
  /** Held by the guard until a person approves, also rows that are accepted and would get their tombstone. */
  held: number
  /** No longer at the partner; not counted among the rows. */
  gone: number
  oldest_pending: Date | null
}

/** The ledger at a glance: how many rows of each stream are accepted, and where the others stand, as the verbs that list them say. */
export async function statusCounts(db: Database, requires: Requires): Promise<StatusCounts[]> {
  const { rows } = await sql<StatusCounts>`
    select stream,
           count(*) filter (where gone_at is null) as rows,
           count(*) filter (where gone_at is null and not row.pending) as accepted,
           count(*) filter (where differs) as pending,
           count(*) filter (where state = 'invalid') as invalid,
           count(*) filter (where state = 'parked') as parked,
           count(*) filter (where state = 'rejected') as rejected,
           count(*) filter (where state = 'unknown') as unknown,
           count(*) filter (where held_by is not null and state <> 'parked') as in_flight,
           count(*) filter (where state = 'held' or (state = 'accepted' and guard_change = 'gone')) as held,
           count(*) filter (where gone_at is not null) as gone,
           min(changed_at) filter (where differs) as oldest_pending
    from ledger row
    cross join lateral (select row.pending and gone_at is null as differs) differing
    cross join lateral (select ${rowState(requires)} as state) stated
    group by stream
    order by stream`.execute(db)
  return rows
}
