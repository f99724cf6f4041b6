import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * The newest run, if the guard stopped it and nobody has approved that yet: nothing that is pending was sent by it,
 * also rows that the guard has nothing against. Null otherwise. It depends on no row, so a query asks it once.
 */
export const heldRun: RawBuilder<number | null> = sql<number | null>`(
  select newest.run_id from (select run_id, held from run order by run_id desc limit 1) newest
  where newest.held
    and exists (select from guard_plan where guard_plan.run_id = newest.run_id and guard_plan.state = 'waiting'))`

/** The run of `heldRun`, by itself. */
export async function findHeldRun(db: Database): Promise<number | null> {
  const { rows } = await sql<{ run_id: number | null }>`select ${heldRun} as run_id`.execute(db)
  return rows[0]?.run_id ?? null
}
