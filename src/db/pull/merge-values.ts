import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

export type ValueCounts = { values: number; added: number; changed: number; removed: number }

/**
 * Makes the values of every readable calculator of the page those that the page gives: adds, changes, removes.
 * A value that stands as it is is not written. Calculators whose values differ land in touched_calculator.
 */
export async function mergeValues(trx: Transaction<Schema>): Promise<ValueCounts> {
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

  await moveWithCalculators(trx)
  const changed = await count(
    trx,
    sql`
    with changed as (
      update calculator_value t set value = m.value
      from merge_value m
      where t.company_key = m.company_key and t.calculator_key = m.calculator_key and t.direction = m.direction and t.variable_key = m.variable_key
        and t.value is distinct from m.value
      returning t.calculator_key
    ), touched as (
      insert into touched_calculator select distinct calculator_key from changed
    )
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
      returning t.calculator_key
    ), touched as (
      insert into touched_calculator select distinct calculator_key from removed
    )
    select count(*) as rows from removed`,
  )
  const added = await count(
    trx,
    sql`
    with added as (
      insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
      select m.company_key, m.calculator_key, m.variable_key, m.direction, m.value
      from merge_value m
      where not exists (
        select from calculator_value t
        where t.company_key = m.company_key and t.calculator_key = m.calculator_key and t.direction = m.direction and t.variable_key = m.variable_key
      )
      returning calculator_key
    ), touched as (
      insert into touched_calculator select distinct calculator_key from added
    )
    select count(*) as rows from added`,
  )
  const values = await count(trx, sql`select count(*) as rows from merge_value`)
  return { values, added, changed, removed }
}

/** A calculator that is another company's now takes its values with it, before they are compared. */
async function moveWithCalculators(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update calculator_value t set company_key = c.company_key
    from staged_calculator s
    join staged_company c using (company_ordinal)
    join calculator k using (calculator_key)
    where s.readable and k.company_key <> c.company_key
      and t.company_key = k.company_key and t.calculator_key = k.calculator_key`.execute(trx)
}

async function count(trx: Transaction<Schema>, query: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await query.execute(trx)
  return Number((rows[0] as { rows: number | string }).rows)
}
