import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { InputComparison, RowComparison } from '../tables/difference-tables.ts'

/** The comparisons of a run, by kind. */
export async function rowComparisonsOf(db: Database, runId: number): Promise<RowComparison[]> {
  return await db.selectFrom('row_comparison').selectAll().where('run_id', '=', runId).orderBy('kind').execute()
}

/** The newest comparison of each kind but calculator inputs, also one that was not made. */
export async function lastRowComparisons(db: Database): Promise<RowComparison[]> {
  const { rows } = await sql<RowComparison>`
    select distinct on (kind) * from row_comparison order by kind, run_id desc`.execute(db)
  return rows
}

/** The comparison of a run; null where there was none. */
export async function comparisonOf(db: Database, runId: number): Promise<InputComparison | null> {
  const found = await db.selectFrom('input_comparison').selectAll().where('run_id', '=', runId).executeTakeFirst()
  return found ?? null
}

/** The newest comparison, also one that was not made; null before the first. */
export async function lastComparison(db: Database): Promise<InputComparison | null> {
  const found = await db
    .selectFrom('input_comparison')
    .selectAll()
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found ?? null
}
