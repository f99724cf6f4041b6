import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'
import { recordChanges } from './value-history.ts'

/**
 * Brings the claimed calculators up to the page, after their values: a calculator that differs in anything is written
 * once, and `changed_at` moves with it; one that stands as it is is not written. A tombstone is lifted.
 */
export async function updateCalculators(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into touched_company
    select distinct k.company_key
    from staged_calculator s
    join staged_company c using (company_ordinal)
    join calculator k using (calculator_key)
    where s.readable and k.company_key <> c.company_key`.execute(trx)
  await sql`
    with changed as (
      update calculator k
      set company_key = c.company_key, type_id = s.type_id, title = coalesce(s.title, k.title),
        period_year = s.period_year, period_month = s.period_month,
        changed_at = statement_timestamp(), removed_at = null
      from staged_calculator s join staged_company c using (company_ordinal)
      where s.readable and k.calculator_key = s.calculator_key
        and not exists (select from fresh_calculator f where f.calculator_key = k.calculator_key)
        and (
          (k.company_key, k.type_id, k.title, k.period_year, k.period_month, k.removed_at) is distinct from
          (c.company_key, s.type_id, coalesce(s.title, k.title), s.period_year, s.period_month, null::timestamptz)
          or exists (select from touched_calculator t where t.calculator_key = k.calculator_key)
        )
      returning k.company_key
    )
    insert into touched_company select distinct company_key from changed`.execute(trx)
  await sql`
    insert into touched_company
    select distinct k.company_key from fresh_calculator join calculator k using (calculator_key)`.execute(trx)
}

export type RemoveOptions = {
  submissionId: number
  /** The types that the search selected; empty for all. */
  calculatorTypeIds: readonly string[]
  /** 0 to 1. */
  minSeenShare: number
  /** Calculators of the page whose companies are as they were: known and seen, and not staged. */
  unchangedCalculators: number
}

/**
 * Tombstones the calculators that a company's new version leaves out, and deletes their values. A calculator of a type
 * that the search did not ask for stays. Of a company that several pages hold, in this search or in the last, nothing is
 * removed before the search ends; nor is anything of a page that shows a smaller share than `minSeenShare` of what its
 * companies are known to have: that is suspicious, and the end of the search judges it.
 * @returns how many values went with them.
 */
export async function removeAbsentCalculators(
  trx: Transaction<Schema>,
  { submissionId, calculatorTypeIds, minSeenShare, unchangedCalculators }: RemoveOptions,
): Promise<number> {
  const { known, seen } = await countKnown(trx, calculatorTypeIds)
  if ((seen + unchangedCalculators) / (known + unchangedCalculators) < minSeenShare) return 0
  const { rows } = await sql<{ rows: number }>`
    with gone as (
      update calculator k set removed_at = statement_timestamp(), changed_at = statement_timestamp()
      from staged_company c
      where c.readable and c.complete and k.company_key = c.company_key and k.removed_at is null
        and (cardinality(${calculatorTypeIds}::uuid[]) = 0 or k.type_id = any(${calculatorTypeIds}::uuid[]))
        and not exists (select from staged_calculator s where s.calculator_key = k.calculator_key)
        and not exists (
          select from search_seen_company z
          where z.submission_id = ${submissionId} and z.company_key = c.company_key
        )
        and not exists (select from company o where o.company_key = c.company_key and o.on_many_pages)
      returning k.calculator_key, k.company_key
    ), gone_values as (
      delete from calculator_value v using gone
      where v.company_key = gone.company_key and v.calculator_key = gone.calculator_key
      returning v.company_key, v.calculator_key, v.direction, v.variable_key, v.value as before, null::text as after
    ), recorded as (${recordChanges('gone_values', submissionId)}), touched as (
      insert into touched_company select distinct company_key from gone
    )
    select count(*) as rows from gone_values`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/** How many calculators the staged companies are known to have, and how many of these the page shows. */
async function countKnown(
  trx: Transaction<Schema>,
  calculatorTypeIds: readonly string[],
): Promise<{ known: number; seen: number }> {
  const { rows } = await sql<{ known: number; seen: number }>`
    select count(*) as known,
      count(*) filter (where exists (select from staged_calculator s where s.calculator_key = k.calculator_key)) as seen
    from staged_company c join calculator k using (company_key)
    where c.readable and c.complete and k.removed_at is null
      and (cardinality(${calculatorTypeIds}::uuid[]) = 0 or k.type_id = any(${calculatorTypeIds}::uuid[]))
      and not exists (select from fresh_calculator f where f.calculator_key = k.calculator_key)`.execute(trx)
  return rows[0] ?? { known: 0, seen: 0 }
}
