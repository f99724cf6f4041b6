import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

/**
 * Brings variables and custom properties up to the names that the page lists. Of an id listed twice the first name
 * counts, and a second that differs is left out.
 *
 * Pages are merged side by side and share these rows, so every statement that locks takes them in the order of ids.
 */
export async function mergeNames(trx: Transaction<Schema>): Promise<void> {
  await leaveOutSecondNames(trx)
  await mergeVariables(trx)
  await mergeProperties(trx)
}

async function leaveOutSecondNames(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into staged_left_out (unit, item, reason, excerpt)
    select 'variable_name', id, 'listed_twice', left(to_json(name)::text, 200)
    from (select id, name, first_value(name) over (partition by id order by ordinal) as first from staged_variable_name) n
    where name <> first
    union all
    select 'property_name', id, 'listed_twice', left(to_json(name)::text, 200)
    from (select id, name, first_value(name) over (partition by id order by ordinal) as first from staged_property_name) n
    where name <> first`.execute(trx)
}

async function mergeVariables(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into calculator_variable (variable_id, name)
    select distinct on (id) id, name from staged_variable_name s
    where not exists (select from calculator_variable v where v.variable_id = s.id)
    order by id, ordinal
    on conflict (variable_id) do nothing`.execute(trx)
  await sql`
    with renamed as (
      select v.variable_key, n.name
      from (select distinct on (id) id, name from staged_variable_name order by id, ordinal) n
      join calculator_variable v on v.variable_id = n.id
      where v.name is distinct from n.name
      order by v.variable_id
      for no key update of v
    )
    update calculator_variable v set name = renamed.name
    from renamed where renamed.variable_key = v.variable_key`.execute(trx)
  await sql`
    update staged_reference r set variable_key = v.variable_key
    from calculator_variable v
    where v.variable_id = r.variable_id
      and exists (select from staged_variable_name n where n.id = r.variable_id)`.execute(trx)
}

async function mergeProperties(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into custom_property (property_id, name)
    select distinct on (id) id, name from staged_property_name s
    where not exists (select from custom_property p where p.property_id = s.id)
    order by id, ordinal
    on conflict (property_id) do nothing`.execute(trx)
  await sql`
    with renamed as (
      select p.property_key, n.name
      from (select distinct on (id) id, name from staged_property_name order by id, ordinal) n
      join custom_property p on p.property_id = n.id
      where p.name is distinct from n.name
      order by p.property_id
      for no key update of p
    )
    update custom_property p set name = renamed.name
    from renamed where renamed.property_key = p.property_key`.execute(trx)
}
