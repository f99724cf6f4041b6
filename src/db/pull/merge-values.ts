import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'
import { recordChanges } from './value-history.ts'

export type ValueCounts = { values: number; added: number; changed: number; removed: number }

/**
 * Makes the values of every readable calculator of the page those that the page gives: adds, changes, removes.
 * A value that stands as it is is not written. Known calculators whose values differ land in touched_calculator, and
 * what differed in the history, if the search records it. The values that a calculator is first seen with are no change.
 */
export async function mergeValues(trx: Transaction<Schema>, submissionId: number): Promise<ValueCounts> {
  await sql`
    create temporary table merge_value on commit drop as
    select c.company_key, k.calculator_key, r.variable_key, v.direction, v.value
    from staged_value v
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    join staged_reference r using (reference)
    where k.readable and r.variable_key is not null`.execute(trx)
  // The key serves the planner too: whatever it believes of a table just filled, each side can be looked up.
  await sql`alter table merge_value add primary key (company_key, calculator_key, direction, variable_key)`.execute(trx)
  await sql`analyze merge_value`.execute(trx)
  await sql`
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', c.company_id, k.calculator_id, r.variable_id, 'variable_not_listed', left(to_json(v.value)::text, 200)
    from staged_value v
    join staged_reference r using (reference)
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    where r.variable_key is null and k.readable`.execute(trx)

  await moveWithCalculators(trx, submissionId)
  const changed = await count(
    trx,
    sql`
    with different as materialized (
      select t.ctid as place, t.company_key, t.calculator_key, t.direction, t.variable_key, t.value as before, m.value as after
      from merge_value m
      join calculator_value t using (company_key, calculator_key, direction, variable_key)
      where t.value is distinct from m.value
    ), changed as (
      update calculator_value t set value = d.after
      from different d
      where t.ctid = d.place
      returning d.*
    ), touched as (
      insert into touched_calculator select distinct calculator_key from changed
    ), recorded as (${recordChanges('changed', submissionId)})
    select count(*) as rows from changed`,
  )
  const removed = await count(
    trx,
    sql`
    with removed as (
      delete from calculator_value t using staged_calculator k join staged_company c using (company_ordinal)
      where k.readable and t.company_key = c.company_key and t.calculator_key = k.calculator_key
        and not exists (
          select from merge_value m
          where m.company_key = t.company_key and m.calculator_key = t.calculator_key and m.direction = t.direction and m.variable_key = t.variable_key
        )
      returning t.company_key, t.calculator_key, t.direction, t.variable_key, t.value as before, null::text as after
    ), touched as (
      insert into touched_calculator select distinct calculator_key from removed
    ), recorded as (${recordChanges('removed', submissionId)})
    select count(*) as rows from removed`,
  )
  const added = await count(
    trx,
    sql`
    with added as (
      insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
      select m.company_key, m.calculator_key, m.variable_key, m.direction, m.value
      from merge_value m
      where not exists (select from fresh_calculator f where f.calculator_key = m.calculator_key)
        and not exists (
          select from calculator_value t
          where t.company_key = m.company_key and t.calculator_key = m.calculator_key and t.direction = m.direction and t.variable_key = m.variable_key
        )
      returning company_key, calculator_key, direction, variable_key, null::text as before, value as after
    ), touched as (
      insert into touched_calculator select distinct calculator_key from added
    ), recorded as (${recordChanges('added', submissionId)})
    select count(*) as rows from added`,
  )
  // Calculators that the page brings for the first time have nothing to be compared with.
  const { numAffectedRows: fresh = 0n } = await sql`
    insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
    select m.company_key, m.calculator_key, m.variable_key, m.direction, m.value
    from merge_value m join fresh_calculator using (calculator_key)`.execute(trx)
  const values = await count(trx, sql`select count(*) as rows from merge_value`)
  return { values, added: added + Number(fresh), changed, removed }
}

/**
 * A calculator that is another company's now takes its values with it, before they are compared. Each company has its
 * own history: they end in the one and begin in the other.
 */
async function moveWithCalculators(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with moved as (
      update calculator_value t set company_key = c.company_key
      from staged_calculator s
      join staged_company c using (company_ordinal)
      join calculator k using (calculator_key)
      where s.readable and k.company_key <> c.company_key
        and t.company_key = k.company_key and t.calculator_key = k.calculator_key
      returning k.company_key as from_company, t.company_key, t.calculator_key, t.direction, t.variable_key, t.value
    ), gone_values as (
      select from_company as company_key, calculator_key, direction, variable_key, value as before, null::text as after
      from moved
    ), arrived as (
      select company_key, calculator_key, direction, variable_key, null::text as before, value as after from moved
    ), recorded_there as (${recordChanges('gone_values', submissionId)})
    ${recordChanges('arrived', submissionId)}`.execute(trx)
}

async function count(trx: Transaction<Schema>, query: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await query.execute(trx)
  return Number((rows[0] as { rows: number | string }).rows)
}
