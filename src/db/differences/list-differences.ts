import { sql } from 'kysely'
import { type Database, type Listed, listed } from '../database.ts'
import { shownText, type Texts } from '../ledger/shown-texts.ts'
import type { DifferenceKind, DifferencesView, InputDifference } from '../tables/difference-tables.ts'

/** Which differences a person asks about; what is left out does not matter. */
export type DifferenceFilter = { kinds: readonly DifferenceKind[]; partnerId?: string; since?: Date }

const said = (texts: Texts) => sql`
  ${shownText(sql`sent`, texts)} as sent, ${shownText(sql`stored`, texts)} as stored, cause, accepted_at, submission_id`

const inputColumns = (texts: Texts) => sql`
  kind, partner_id, company_id, period_year, period_month, variable_id, variable_name, ${said(texts)}, found_by_run,
  found_at`

const rowColumns = (texts: Texts) => sql`
  stream, kind, partner_id, company_id, row_key, variable_name, ${said(texts)}, changed_there_at, found_by_run,
  found_at, resent_by_run`

/** Where a limit is asked for, long texts are cut. */
const textsOf = (limit: number | null): Texts => (limit === null ? 'whole' : 'short')

/** Differences as the last comparison left them, the newest first, then by hotel and period. */
export async function listDifferences(
  db: Database,
  { kinds, partnerId, since }: DifferenceFilter,
  limit: number,
  texts: Texts,
): Promise<InputDifference[]> {
  const { rows } = await sql<InputDifference>`
    select ${inputColumns(texts)} from input_differences
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
  texts: Texts,
): Promise<DifferencesView[]> {
  const { rows } = await sql<DifferencesView>`
    select ${rowColumns(texts)} from differences
    where stream <> 'calculator_inputs' and kind = any(${kinds}::text[])
      and (${partnerId ?? null}::text is null or partner_id = ${partnerId ?? null})
      and (${since ?? null}::timestamptz is null or found_at >= ${since ?? null}::timestamptz)
    order by found_by_run desc, partner_id, stream, row_key
    limit ${limit}`.execute(db)
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
    select ${inputColumns(textsOf(limit))}, count(*) over () as found from input_differences
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
    select ${rowColumns(textsOf(limit))}, count(*) over () as found from differences
    where stream <> 'calculator_inputs' and partner_id = ${partnerId}
    order by found_by_run desc, stream, row_key
    limit ${limit}`.execute(db)
  return listed(rows)
}
