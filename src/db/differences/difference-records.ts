import { sql } from 'kysely'
import { type Database, type Listed, listed } from '../database.ts'
import type {
  DifferenceKind,
  DifferencesView,
  InputComparison,
  InputDifference,
  RowComparison,
} from '../tables/difference-tables.ts'

/** The comparisons of a run, by kind. */
export async function rowComparisonsOf(db: Database, runId: number): Promise<RowComparison[]> {
  return await db.selectFrom('row_comparison').selectAll().where('run_id', '=', runId).orderBy('kind').execute()
}

/** Which differences a person asks about; what is left out does not matter. */
export type DifferenceFilter = { kinds: readonly DifferenceKind[]; partnerId?: string; since?: Date }

/** Differences as the last comparison left them, the newest first, then by hotel and period. */
export async function listDifferences(
  db: Database,
  { kinds, partnerId, since }: DifferenceFilter,
  limit: number,
): Promise<InputDifference[]> {
  const { rows } = await sql<InputDifference>`
    select * from input_differences
    where kind = any(${kinds}::text[])
      and (${partnerId ?? null}::text is null or partner_id = ${partnerId ?? null})
      and (${since ?? null}::timestamptz is null or found_at >= ${since ?? null}::timestamptz)
    order by found_by_run desc, partner_id, company_id, period_year, period_month nulls first, variable_id
    limit ${limit}`.execute(db)
  return rows
}

/** Rows other than calculator inputs that differ, the newest first, then by hotel. */
export async function listRowDifferences(
  db: Database,
  { kinds, partnerId, since }: DifferenceFilter,
  limit: number,
): Promise<DifferencesView[]> {
  const { rows } = await sql<DifferencesView>`
    select * from differences
    where stream <> 'calculator_inputs' and kind = any(${kinds}::text[])
      and (${partnerId ?? null}::text is null or partner_id = ${partnerId ?? null})
      and (${since ?? null}::timestamptz is null or found_at >= ${since ?? null}::timestamptz)
    order by found_by_run desc, partner_id, stream, row_key
    limit ${limit}`.execute(db)
  return rows
}

/** The newest comparison of each kind but calculator inputs, also one that was not made. */
export async function lastRowComparisons(db: Database): Promise<RowComparison[]> {
  const { rows } = await sql<RowComparison>`
    select distinct on (kind) * from row_comparison order by kind, run_id desc`.execute(db)
  return rows
}

/**
 * Those of the company that a hotel is mapped to, and those of its own rows, worst first.
 * @param limit null: all.
 */
export async function differencesOf(
  db: Database,
  partnerId: string,
  limit: number | null,
): Promise<Listed<InputDifference>> {
  const { rows } = await sql<InputDifference & { found: number }>`
    select *, count(*) over () as found from input_differences
    where company_id = (select company_id from mapping where mapping.partner_id = ${partnerId})
      and (kind = 'foreign' or input_differences.partner_id = ${partnerId})
    order by kind, period_year, period_month nulls first, variable_id
    limit ${limit}`.execute(db)
  return listed(rows)
}

/** Those of a hotel's rows of every other kind, the newest first. @param limit null: all. */
export async function rowDifferencesOf(
  db: Database,
  partnerId: string,
  limit: number | null,
): Promise<Listed<DifferencesView>> {
  const { rows } = await sql<DifferencesView & { found: number }>`
    select *, count(*) over () as found from differences
    where stream <> 'calculator_inputs' and partner_id = ${partnerId}
    order by found_by_run desc, stream, row_key
    limit ${limit}`.execute(db)
  return listed(rows)
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
