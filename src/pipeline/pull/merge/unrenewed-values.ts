import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { ofSelectedType } from './known-companies.ts'
import { variableOf } from './name-spelling.ts'
import { keepValuesForOtherPages } from './on-many-pages.ts'
import { isSuspiciousPage, markAgain, someUnrenewed, type UnrenewedOptions } from './unrenewed-parts.ts'

/**
 * Decides, of the values in value_difference that the page does not give (`removed`), which stay: those that a person
 * has brought back, those that the page gives in a form that cannot be right, those that another page may give, and all
 * inputs or outputs where the page shows a smaller share of them than `minSeenShare`. They become `unrenewed`, with the
 * reason, and are marked as not renewed. Of a calculator that another page of the search has given, what stands is left
 * as it is (`kept`), but for what no page has given and only seems absent so far.
 * @param elsewhere whether any company of the page may be on others too.
 * @returns how many are still to be removed.
 */
export async function keepUnrenewedValues(
  trx: Transaction<Schema>,
  options: UnrenewedOptions,
  elsewhere: boolean,
): Promise<number> {
  const { submissionId } = options
  await sql`
    update value_difference d set kind = 'kept'
    from staged_calculator k
    where d.kind = 'removed' and k.calculator_key = d.calculator_key and k.given and not exists (
      select from unrenewed_part u
      where u.company_key = d.company_key and u.part = 'value' and u.calculator_key = d.calculator_key
        and u.direction = d.direction and u.variable_key = d.variable_key
        and u.reason = 'on_many_pages' and u.submission_id = ${submissionId}
    )`.execute(trx)
  if (await someUnrenewed(trx)) {
    await sql`
      update value_difference d set kind = 'unrenewed', reason = 'restored', withheld = true
      from unrenewed_part u
      where d.kind = 'removed' and u.part = 'value' and u.reason = 'restored' and u.company_key = d.company_key
        and u.calculator_key = d.calculator_key and u.direction = d.direction
          and u.variable_key = d.variable_key`.execute(trx)
  }
  await keepUnreadable(trx)
  if (elsewhere) await keepValuesForOtherPages(trx, submissionId)
  await withholdSuspicious(trx, options)
  await sql`
    insert into unrenewed_part
      (company_key, part, calculator_key, direction, variable_key, reason, withheld, submission_id)
    select company_key, 'value', calculator_key, direction, variable_key, reason, withheld, ${submissionId}::bigint
    from value_difference where kind = 'unrenewed'
    ${markAgain}`.execute(trx)
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from value_difference where kind = 'removed'`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/** What the page gives, but not as a value: it does not show that the value is gone. */
async function keepUnreadable(trx: Transaction<Schema>): Promise<void> {
  const { rows } = await sql<{ some: boolean }>`select exists (select from staged_unrenewed_value) as some`.execute(trx)
  if (rows[0]?.some !== true) return
  await sql`
    update value_difference d set kind = 'unrenewed', reason = h.reason
    from (
      select k.calculator_key, h.direction, v.variable_key, min(h.reason) as reason
      from staged_unrenewed_value h
      join staged_calculator k using (calculator_ordinal)
      join (
        select variable_id, ${variableOf(sql`named.variable_id`)} as variable_key
        from (select distinct variable_id from staged_unrenewed_value) named
      ) v using (variable_id)
      group by 1, 2, 3
    ) h
    where d.kind = 'removed' and d.calculator_key = h.calculator_key and d.direction = h.direction
      and d.variable_key = h.variable_key`.execute(trx)
  await sql`
    update value_difference d set kind = 'unrenewed', reason = h.reason
    from (
      select k.calculator_key, h.direction, min(h.reason) as reason
      from staged_unrenewed_value h join staged_calculator k using (calculator_ordinal)
      where h.variable_id is null
      group by 1, 2
    ) h
    where d.kind = 'removed' and d.calculator_key = h.calculator_key and d.direction = h.direction`.execute(trx)
  // A group of null is left out only where it stands in the place of something.
  await sql`
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', c.company_id, k.calculator_id, h.field, h.reason, 'null'
    from staged_unrenewed_value h
    join staged_calculator k using (calculator_ordinal)
    join staged_company c using (company_ordinal)
    where h.field is not null and exists (
      select from value_difference d
      where d.kind = 'unrenewed' and d.calculator_key = k.calculator_key and d.direction = h.direction
    )`.execute(trx)
}

/**
 * Without inputs, or without outputs, a calculator is as the specification allows; all calculators of a page without
 * them are suspicious. So the two are judged apart, by calculators of the types that the search selected. What another
 * page may give does not count, but stays with the rest.
 */
async function withholdSuspicious(trx: Transaction<Schema>, options: UnrenewedOptions): Promise<void> {
  const selected = ofSelectedType(options.calculatorTypeIds)
  const { rows } = await sql<ShownValues>`
    select direction, coalesce(given, 0) - added as seen, coalesce(given, 0) - added + absent as known
    from (
      select direction, count(*) filter (where kind = 'added' and ${selected}) as added,
        count(*) filter (where kind in ('removed', 'unrenewed') and not elsewhere and ${selected}) as absent
      from value_difference join staged_calculator using (calculator_key)
      group by direction
      having count(*) filter (where kind = 'removed') > 0
    ) differing
    left join (
      select m.direction, count(*) as given
      from merge_value m join staged_calculator using (calculator_key)
      where ${selected} and not exists (select from fresh_calculator f where f.calculator_key = m.calculator_key)
      group by m.direction
    ) page using (direction)`.execute(trx)
  for (const direction of await suspiciousDirections(trx, rows, options)) {
    await sql`
      update value_difference
      set kind = 'unrenewed', withheld = true, reason = case direction when 'i' then 'too_few_inputs'
        else 'too_few_outputs' end
      where (kind = 'removed' or elsewhere) and direction = ${direction}`.execute(trx)
  }
}

export type ShownValues = { direction: 'i' | 'o'; seen: number; known: number }

/** Of which of inputs and outputs so few are shown that what is absent stays. */
export async function suspiciousDirections(
  trx: Transaction<Schema>,
  shown: readonly ShownValues[],
  options: UnrenewedOptions,
): Promise<ShownValues['direction'][]> {
  const suspicious: ShownValues['direction'][] = []
  for (const { direction, seen, known } of shown) {
    const unchanged = (keys: RawBuilder<unknown>) => sql`
      select from calculator_value v join calculator k using (company_key, calculator_key)
      where v.company_key = ${keys} and v.direction = ${direction} and ${ofSelectedType(options.calculatorTypeIds)}`
    const values = { seen: Number(seen), known: Number(known) }
    if (await isSuspiciousPage(trx, values, options, unchanged)) suspicious.push(direction)
  }
  return suspicious
}
