import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { lacksRequirement, type Requires } from '../ledger/requirement.ts'
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
  in_flight: number
  oldest_pending: Date | null
}

/** The ledger at a glance: how many rows of each stream are accepted, and what the others wait for. */
export async function statusCounts(db: Database, requires: Requires): Promise<StatusCounts[]> {
  const { rows } = await sql<StatusCounts>`
    select stream,
           count(*) as rows,
           count(*) filter (where accepted_hash = desired_hash) as accepted,
           count(*) filter (where accepted_hash is distinct from desired_hash) as pending,
           count(*) filter (where accepted_hash is distinct from desired_hash and invalid_reason is not null) as invalid,
           count(*) filter (
             where accepted_hash is distinct from desired_hash and invalid_reason is null
               and refused_hash is distinct from desired_hash and held_by is null and ${lacksRequirement(requires)}
           ) as parked,
           count(*) filter (where accepted_hash is distinct from desired_hash and refused_hash = desired_hash) as rejected,
           count(*) filter (where held_by is not null) as in_flight,
           min(changed_at) filter (where accepted_hash is distinct from desired_hash) as oldest_pending
    from source_row row
    group by stream
    order by stream`.execute(db)
  return rows
}
