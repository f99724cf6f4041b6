import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { ofSelectedType, returnedAt } from './known-companies.ts'
import { bringBackLists, bringBackValues } from './on-many-pages.ts'
import { isSuspiciousPage, markAgain, type UnrenewedOptions } from './unrenewed-parts.ts'
import { type ShownValues, suspiciousDirections } from './unrenewed-values.ts'
import { keepRemovedValues, recordChanges } from './value-history.ts'

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
        changed_at = statement_timestamp(), removed_at = null, ${returnedAt('k')}
      from staged_calculator s join staged_company c using (company_ordinal)
      where s.readable and k.calculator_key = s.calculator_key
        and not exists (select from fresh_calculator f where f.calculator_key = k.calculator_key)
        and (
          (k.company_key, k.type_id, k.title, k.period_year, k.period_month, k.removed_at) is distinct from
          (c.company_key, s.type_id, coalesce(s.title, k.title), s.period_year, s.period_month, null::timestamptz)
          or k.calculator_key in (select calculator_key from touched_calculator)
        )
      returning k.company_key
    )
    insert into touched_company select distinct company_key from changed`.execute(trx)
  await sql`
    insert into touched_company
    select distinct k.company_key from fresh_calculator join calculator k using (calculator_key)`.execute(trx)
}

/**
 * Leaves out calculators that are known to have a month and whose month is null on the page: null is no absence, and
 * what stands of them stays, whole. After the calculators were claimed.
 */
export async function leaveOutLostMonths(trx: Transaction<Schema>): Promise<void> {
  await sql`
    with lost as (
      update staged_calculator s set readable = false
      from calculator k
      where s.readable and s.month_null is not null and k.calculator_key = s.calculator_key
        and k.period_month is not null
      returning s.company_ordinal, s.calculator_id, s.month_null as item
    )
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'calculator', c.company_id, lost.calculator_id, lost.item, 'month_unknown', 'null'
    from lost join staged_company c using (company_ordinal)`.execute(trx)
}

/**
 * Brings back, with their values, calculators that another page of the same search has removed and that are there: this
 * page shows them, or may, because their company cannot be read on it or holds a calculator that cannot be identified.
 * They belong to the company that lost them, and do not count as returned: what this page gives of them is compared
 * with what stood, as if this page had come first, and what it only may show is marked as not renewed. Which search
 * removed one is told by what is kept of its values; only where nothing is, by times. Values and lists of property
 * values come back as `bringBackValues` and `bringBackLists` say. After the calculators were claimed, and before their
 * values are merged.
 * @returns how many values came back.
 */
export async function bringBackRemoved(trx: Transaction<Schema>, submissionId: number): Promise<number> {
  const inDoubt = sql`s.seen and not (s.readable and s.complete)`
  const { rows: looked } = await sql<{ some: boolean; again: boolean }>`
    select exists (select from staged_company where seen) as again,
      exists (select from staged_calculator where removed)
      or exists (select from staged_company s where ${inDoubt}) as some`.execute(trx)
  let values = 0
  if (looked[0]?.again === true) {
    await bringBackLists(trx, submissionId)
    values = await bringBackValues(trx, submissionId)
  }
  if (looked[0]?.some !== true) return values
  const keptOf = sql`
    select from removed_value r where r.company_key = k.company_key and r.calculator_key = k.calculator_key`
  const { rows } = await sql<{ rows: number }>`
    with sought as (
      select calculator_key, false as in_doubt from staged_calculator where removed
      union all
      select k.calculator_key, true from staged_company s join calculator k using (company_key)
      where ${inDoubt} and k.removed_at is not null
        and not exists (select from staged_calculator t where t.calculator_key = k.calculator_key)
    ), back as (
      update calculator k set removed_at = null, changed_at = statement_timestamp()
      from sought s, company c
      where k.calculator_key = s.calculator_key
        and case when exists (${keptOf}) then exists (${keptOf} and r.submission_id = ${submissionId})
          else k.removed_at >= (select planned_at from submission where submission_id = ${submissionId}) end
        and c.company_key = k.company_key and c.removed_at is null
      returning k.company_key, k.calculator_key, s.in_doubt
    ), marked as (
      insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
      select company_key, 'calculator', calculator_key, 'unidentified_calculators', false, ${submissionId}::bigint
      from back where in_doubt
      ${markAgain}
    ), taken as (
      delete from removed_value r using back
      where r.company_key = back.company_key and r.calculator_key = back.calculator_key
        and r.submission_id = ${submissionId}
      returning r.company_key, r.calculator_key, r.direction, r.variable_key, r.value, r.removal_id
    ), added as (
      select distinct on (company_key, calculator_key, direction, variable_key)
        company_key, calculator_key, direction, variable_key, null::text as before, value as after
      from taken order by company_key, calculator_key, direction, variable_key, removal_id desc
    ), stored as (
      insert into calculator_value (company_key, calculator_key, direction, variable_key, value)
      select company_key, calculator_key, direction, variable_key, after from added
    ), recorded as (${recordChanges('added', submissionId)}), touched as (
      insert into touched_company select distinct company_key from back
    ), staged as (
      update staged_calculator s set removed = false from back where s.calculator_key = back.calculator_key
    )
    select count(*) as rows from added`.execute(trx)
  return values + Number(rows[0]?.rows ?? 0)
}

/**
 * Tombstones the calculators that a company's new version leaves out, and deletes their values. A calculator of a type
 * that the search did not ask for stays, and so does one that another page has shown. Of a company that several pages
 * contain, in this search or in the last, nothing is removed before the search ends. What is absent stays, marked as
 * not renewed, where a calculator of the company could not be identified, on this page or another of the search, or the
 * company could not be read on one of several; where a person has brought it or a value of it back; and all of it where
 * the page shows a smaller share than `minSeenShare` of what its companies are known to have.
 * @returns how many values went.
 */
export async function removeAbsentCalculators(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<number> {
  const { submissionId, calculatorTypeIds } = options
  // Of a company that was given whole nothing is in doubt, whatever else is said of it.
  const inDoubt = sql`
    case when s.seen then (
      select not z.given and (z.whole or not (s.readable and s.complete)) from search_seen_company z
      where z.submission_id = ${submissionId} and z.company_key = s.company_key
    ) else not s.complete end`
  await sql`
    create temporary table absent_calculator on commit drop as
    select k.calculator_key, k.company_key, false as withheld,
      case when c.in_doubt then 'unidentified_calculators' end as reason
    from (
      select s.*, ${inDoubt} as in_doubt from staged_company s where s.readable or s.seen
    ) c join calculator k using (company_key)
    where (c.in_doubt or not c.seen and not c.on_many_pages) and k.removed_at is null
      and ${ofSelectedType(calculatorTypeIds)}
      and not exists (select from staged_calculator s where s.calculator_key = k.calculator_key)`.execute(trx)
  const { rows: absent } = await sql<{ some: boolean }>`
    select exists (select from absent_calculator) as some`.execute(trx)
  if (absent[0]?.some !== true) return 0
  await sql`
    delete from absent_calculator a
    where (
      select true from search_seen_calculator z
      where z.submission_id = ${submissionId} and z.calculator_key = a.calculator_key
    )`.execute(trx)
  await sql`
    update absent_calculator a set reason = 'restored', withheld = true
    from unrenewed_part u
    where u.reason = 'restored'
      and u.company_key = a.company_key and u.calculator_key = a.calculator_key`.execute(trx)
  const shown = await countKnown(trx, calculatorTypeIds)
  const unchanged = (keys: RawBuilder<unknown>) => sql`
    select from calculator
    where company_key = ${keys} and removed_at is null and ${ofSelectedType(calculatorTypeIds)}`
  if (await isSuspiciousPage(trx, shown, options, unchanged)) {
    await sql`
      update absent_calculator set reason = 'too_few_calculators', withheld = true where reason is null`.execute(trx)
  }
  await withholdWithValues(trx, options)
  await sql`
    insert into unrenewed_part (company_key, part, calculator_key, reason, withheld, submission_id)
    select company_key, 'calculator', calculator_key, reason, withheld, ${submissionId}::bigint
    from absent_calculator where reason is not null
    ${markAgain}`.execute(trx)
  const { rows } = await sql<{ rows: number }>`
    with gone as (
      update calculator k set removed_at = statement_timestamp(), changed_at = statement_timestamp()
      from absent_calculator a
      where a.reason is null and k.calculator_key = a.calculator_key
      returning k.calculator_key, k.company_key
    ), gone_values as (
      delete from calculator_value v using gone
      where v.company_key = gone.company_key and v.calculator_key = gone.calculator_key
      returning v.company_key, v.calculator_key, v.direction, v.variable_key, v.value as before, null::text as after
    ), kept as (${keepRemovedValues('gone_values', submissionId)}),
    recorded as (${recordChanges('gone_values', submissionId)}), touched as (
      insert into touched_company select distinct company_key from gone
    )
    select count(*) as rows from gone_values`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/**
 * A few calculators may hold most of the inputs or outputs. Of either, what would go with them is judged together with
 * what the page has not shown of the calculators on it, and those that hold some of it stay where that is suspicious.
 */
async function withholdWithValues(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  const selected = ofSelectedType(options.calculatorTypeIds)
  const { rows } = await sql<ShownValues>`
    select direction, stand - absent - coalesce(added, 0) - coalesce(unrenewed, 0) as seen,
      stand - coalesce(added, 0) + coalesce(removed, 0) - coalesce(elsewhere, 0) as known
    from (
      select v.direction, count(*) as stand, count(a.calculator_key) as absent
      from staged_company c
      join calculator k using (company_key)
      join calculator_value v using (company_key, calculator_key)
      left join absent_calculator a using (calculator_key)
      where c.readable and c.complete and ${selected}
        and not exists (select from fresh_calculator f where f.calculator_key = k.calculator_key)
      group by v.direction
      having count(*) filter (where a.calculator_key is not null and a.reason is null) > 0
    ) known
    left join (
      select direction, count(*) filter (where kind = 'added') as added,
        count(*) filter (where kind = 'removed') as removed, count(*) filter (where kind = 'unrenewed') as unrenewed,
        count(*) filter (where elsewhere) as elsewhere
      from value_difference
      join staged_company c using (company_key)
      join staged_calculator using (calculator_key)
      where c.complete and ${selected}
      group by direction
    ) differing using (direction)`.execute(trx)
  for (const direction of await suspiciousDirections(trx, rows, options)) {
    await sql`
      update absent_calculator a
      set withheld = true, reason = case ${direction} when 'i' then 'too_few_inputs' else 'too_few_outputs' end
      where reason is null and exists (
        select from calculator_value v
        where v.company_key = a.company_key and v.calculator_key = a.calculator_key and v.direction = ${direction}
      )`.execute(trx)
  }
}

/**
 * How many calculators the staged companies are known to have, and how many of these the page shows. What was gone and
 * the page brings back is not among them: as what is new, it says nothing of the rest.
 */
async function countKnown(
  trx: Transaction<Schema>,
  calculatorTypeIds: readonly string[],
): Promise<{ known: number; seen: number }> {
  const { rows } = await sql<{ known: number; seen: number }>`
    select count(*) as known, count(s.calculator_key) as seen
    from staged_company c join calculator k using (company_key)
    left join (select calculator_key, removed from staged_calculator) s using (calculator_key)
    where c.readable and c.complete and k.removed_at is null and s.removed is not true
      and ${ofSelectedType(calculatorTypeIds)}
      and not exists (select from fresh_calculator f where f.calculator_key = k.calculator_key)`.execute(trx)
  return { known: Number(rows[0]?.known ?? 0), seen: Number(rows[0]?.seen ?? 0) }
}
