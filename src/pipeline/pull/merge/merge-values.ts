import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { someUnrenewed, type UnrenewedOptions } from './unrenewed-parts.ts'
import { keepUnrenewedValues } from './unrenewed-values.ts'
import { keepRemovedValues, recordChanges } from './value-history.ts'

type ValueCounts = { values: number; added: number; changed: number; removed: number }

type Differences = Omit<ValueCounts, 'values'> & { elsewhere: boolean }

/**
 * Makes the values of every readable calculator of the page those that the page gives: adds, changes, removes. What it
 * leaves out and does not show as absent stays, marked as not renewed: see `keepUnrenewedValues`. A value that stands
 * as it is is not written. Known calculators whose values differ land in touched_calculator, and what differed in the
 * history, if the search records it. The values that a calculator is first seen with are no change.
 */
export async function mergeValues(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<ValueCounts> {
  const { submissionId } = options
  await sql`
    create temporary table merge_value on commit drop as
    select c.company_key, k.calculator_key, r.variable_key, v.direction, v.value
    from staged_value v
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    join staged_reference r using (reference)
    where k.readable and r.variable_key is not null`.execute(trx)
  await sql`
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', c.company_id, k.calculator_id, r.variable_id, 'variable_not_listed',
      left(to_json(v.value)::text, 200)
    from staged_value v
    join staged_reference r using (reference)
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    where r.variable_key is null and k.readable`.execute(trx)
  await sql`
    insert into staged_unrenewed_value (calculator_ordinal, direction, variable_id, reason)
    select v.calculator_ordinal, v.direction, r.variable_id, 'variable_not_listed'
    from staged_value v join staged_reference r using (reference) join staged_calculator k using (calculator_ordinal)
    where r.variable_key is null and k.readable`.execute(trx)

  await leaveOutOtherSpellings(trx)
  await moveWithCalculators(trx, submissionId)
  const { elsewhere, ...different } = await findDifferences(trx)
  if (different.removed > 0) different.removed = await keepUnrenewedValues(trx, options, elsewhere)
  if (different.changed > 0) {
    await sql`
      update calculator_value t set value = d.after
      from value_difference d
      where t.ctid = d.place and d.kind = 'changed'`.execute(trx)
  }
  if (different.removed > 0) {
    await sql`
      delete from calculator_value t using value_difference d
      where t.ctid = d.place and d.kind = 'removed'`.execute(trx)
    await sql`
      with removed as (select * from value_difference where kind = 'removed')
      ${keepRemovedValues('removed', submissionId)}`.execute(trx)
  }
  if (different.added > 0) {
    await sql`
      insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
      select company_key, calculator_key, variable_key, direction, after
      from value_difference where kind = 'added'`.execute(trx)
  }
  // Not of what was written by each statement, which would be kept once more: nobody else writes these values.
  await sql`
    with changed as (
      select * from value_difference where kind in ('changed', 'removed', 'added')
      order by kind = 'added', kind = 'removed'
    ), touched as (
      insert into touched_calculator select distinct calculator_key from changed
    )
    ${recordChanges('changed', submissionId)}`.execute(trx)
  // Calculators that the page brings for the first time have nothing to be compared with.
  const { numAffectedRows: fresh = 0n } = await sql`
    insert into calculator_value (company_key, calculator_key, variable_key, direction, value)
    select m.company_key, m.calculator_key, m.variable_key, m.direction, m.value
    from merge_value m join fresh_calculator using (calculator_key)`.execute(trx)
  if (await someUnrenewed(trx)) {
    await sql`
      delete from unrenewed_part u using merge_value m
      where u.part = 'value' and u.company_key = m.company_key and u.calculator_key = m.calculator_key
        and u.direction = m.direction and u.variable_key = m.variable_key`.execute(trx)
  }
  const values = await count(trx, sql`select count(*) as rows from merge_value`)
  return { values, ...different, added: different.added + Number(fresh) }
}

/**
 * Of a variable that a calculator gives in several spellings the first counts, in the order of the alphabet, so that it
 * is the same one every night. Costs nothing where the page refers to no variable in two of them.
 */
async function leaveOutOtherSpellings(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ some: boolean }>`
    select exists (
      select from staged_reference where variable_key is not null
      group by variable_key having count(distinct variable_id) > 1
    ) as some`.execute(trx)
  if (rows[0]?.some !== true) return
  await sql`
    with placed as (
      select k.calculator_ordinal, v.direction, r.variable_key, r.variable_id, v.value, row_number() over (
        partition by k.calculator_ordinal, v.direction, r.variable_key order by r.variable_id collate "C"
      ) as nth
      from staged_value v
      join staged_calculator k using (calculator_ordinal)
      join staged_reference r using (reference)
      where k.readable and r.variable_key is not null
    ), several as (
      select p.*, c.company_id, c.company_key, k.calculator_id, k.calculator_key
      from placed p
      join staged_calculator k using (calculator_ordinal)
      join staged_company c using (company_ordinal)
      where (calculator_ordinal, direction, variable_key) in (
        select calculator_ordinal, direction, variable_key from placed where nth > 1
      )
    ), taken as (
      delete from merge_value m using several s
      where m.calculator_key = s.calculator_key and m.direction = s.direction and m.variable_key = s.variable_key
    ), again as (
      insert into merge_value (company_key, calculator_key, variable_key, direction, value)
      select company_key, calculator_key, variable_key, direction, value from several where nth = 1
    )
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', company_id, calculator_id, variable_id, 'variable_twice', left(to_json(value)::text, 200)
    from several where nth > 1`.execute(trx)
}

/**
 * Lays side by side what the page gives of known calculators and what stands of them, and keeps what differs in
 * value_difference. One pass over either side: every row is looked up once. The places count until the values are
 * written, because nobody writes a value without the lock on its company.
 * @returns how many differ in which way, and whether any company of the page may be on others too.
 */
async function findDifferences(trx: Transaction<Schema>): Promise<Differences> {
  await sql`
    create temporary table value_difference on commit drop as
    select company_key, calculator_key, direction, variable_key, t.place, t.value as before, m.value as after,
      null::text as reason, false as withheld, false as elsewhere,
      case when t.value is null then 'added' when m.value is null then 'removed' else 'changed' end as kind
    from (
      select * from merge_value m
      where not exists (select from fresh_calculator f where f.calculator_key = m.calculator_key)
    ) m
    full join (
      select v.ctid as place, v.*
      from staged_calculator k
      join staged_company c using (company_ordinal)
      join calculator_value v on v.company_key = c.company_key and v.calculator_key = k.calculator_key
      where k.readable
    ) t using (company_key, calculator_key, direction, variable_key)
    where t.value is distinct from m.value`.execute(trx)
  const { rows } = await sql<Differences>`
    select count(*) filter (where kind = 'added') as added, count(*) filter (where kind = 'changed') as changed,
      count(*) filter (where kind = 'removed') as removed,
      exists (select from staged_company where on_many_pages or seen) as elsewhere
    from value_difference`.execute(trx)
  return rows[0] ?? { added: 0, changed: 0, removed: 0, elsewhere: false }
}

/**
 * A calculator that is another company's now takes its values and what they are marked with along, before they are
 * compared. Each company has its own history: they end in the one and begin in the other.
 */
async function moveWithCalculators(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const { rows } = await sql<{ some: boolean }>`
    select exists (
      select from staged_calculator s
      join staged_company c using (company_ordinal)
      join calculator k using (calculator_key)
      where s.readable and k.company_key <> c.company_key
    ) as some`.execute(trx)
  if (rows[0]?.some !== true) return
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
  await sql`
    with moved as (
      delete from unrenewed_part u
      using staged_calculator s join staged_company c using (company_ordinal) join calculator k using (calculator_key)
      where s.readable and k.company_key <> c.company_key
        and u.company_key = k.company_key and u.calculator_key = k.calculator_key
      returning u.*, c.company_key as to_company
    )
    insert into unrenewed_part
      (company_key, part, calculator_key, direction, variable_key, since, reason, withheld, submission_id)
    select to_company, part, calculator_key, direction, variable_key, since, reason, withheld, submission_id
    from moved on conflict do nothing`.execute(trx)
}

async function count(trx: Transaction<Schema>, query: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await query.execute(trx)
  return Number((rows[0] as { rows: number | string }).rows)
}
