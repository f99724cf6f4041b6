import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/** Grown by more than this since they were last looked at, tables are not what the planner believes. */
const grownBy = 1.5

/**
 * Tells the planner of what a search has loaded, where it has loaded much. The server would find out by itself, minutes
 * later; what follows at once joins these tables, and a plan for empty tables takes hours on full ones. Where another
 * session is at the same work, it is left to that.
 */
export async function analyzeGrown(trx: Transaction<Schema>): Promise<void> {
  // What a search has seen is there for its duration only: what was found out of another is of no use.
  await sql`analyze (skip_locked) search_seen_company, search_seen_calculator`.execute(trx)
  const { rows } = await sql<{ grown: boolean }>`
    select (select count(*) from calculator) > ${grownBy}::numeric * greatest(reltuples, 0)::numeric as grown
    from pg_class where oid = 'calculator'::regclass`.execute(trx)
  if (rows[0]?.grown !== true) return
  await sql`analyze (skip_locked) company, company_property, calculator, calculator_value`.execute(trx)
}
