import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { NamedKind } from '../../../db/tables/history-tables.ts'
import { isNamed, namedKey, namedRows, oneSpelling, variableOf } from './name-spelling.ts'
import { markAgain } from './unrenewed-parts.ts'

/**
 * Brings variables and custom properties up to the names that the page lists. Of an id listed twice the first name
 * counts, and a second that differs is left out. A name that was another before leaves a trace in name_change. One that
 * cannot be read leaves the name that stands, and none where there was none.
 *
 * Pages are merged side by side and share these rows, so every statement that locks takes them in the order of ids.
 */
export async function mergeNames(trx: Transaction<Schema>, pageId: number, submissionId: number): Promise<void> {
  await leaveOutSecondNames(trx)
  await mergeNamesOf(trx, 'variable', pageId)
  await mergeNamesOf(trx, 'property', pageId)
  await markNames(trx, submissionId)
}

const stagedNames = { variable: sql`staged_variable_name`, property: sql`staged_property_name` }

/** Finds the keys of the listed variables that staged companies refer to. */
export async function keyReferences(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update staged_reference r set variable_key = ${variableOf(sql`r.variable_id`)}
    where exists (
      select from staged_variable_name n where ${oneSpelling(sql`n.id`)} = ${oneSpelling(sql`r.variable_id`)}
    )`.execute(trx)
}

/** Marks names that the page gives in no form that can be read, and takes the mark off those that it gives. */
async function markNames(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const { rows } = await sql<{ unread: boolean; marked: boolean }>`
    select exists (select from staged_left_out where unit in ('variable_name', 'property_name')) as unread,
      exists (select from unrenewed_part where company_key = 0) as marked`.execute(trx)
  if (rows[0]?.unread === true) {
    await sql`
      insert into unrenewed_part (part, variable_key, property_key, reason, withheld, submission_id)
      select l.unit, coalesce(v.variable_key, 0), coalesce(p.property_key, 0), min(l.reason), false,
        ${submissionId}::bigint
      from staged_left_out l
      left join calculator_variable v on l.unit = 'variable_name' and v.variable_key = ${variableOf(sql`l.item`)}
      left join custom_property p on l.unit = 'property_name' and p.property_key = ${namedKey('property', sql`l.item`)}
      where l.unit in ('variable_name', 'property_name') and coalesce(v.name, p.name) is not null
        and not exists (select from staged_variable_name n
          where l.unit = 'variable_name' and n.name is not null
            and ${oneSpelling(sql`n.id`)} = ${oneSpelling(sql`l.item`)})
        and not exists (select from staged_property_name n
          where l.unit = 'property_name' and n.name is not null
            and ${oneSpelling(sql`n.id`)} = ${oneSpelling(sql`l.item`)})
      group by l.unit, v.variable_key, p.property_key
      order by l.unit, v.variable_key, p.property_key
      ${markAgain}`.execute(trx)
  }
  if (rows[0]?.marked !== true) return
  await sql`
    delete from unrenewed_part u
    where u.company_key = 0 and u.part = 'variable_name'
      and u.variable_key in (select ${variableOf(sql`id`)} from staged_variable_name where name is not null)`.execute(
    trx,
  )
  await sql`
    delete from unrenewed_part u
    where u.company_key = 0 and u.part = 'property_name' and u.property_key in (
      select ${namedKey('property', sql`id`)} from staged_property_name where name is not null
    )`.execute(trx)
}

async function leaveOutSecondNames(trx: Transaction<Schema>): Promise<void> {
  const second = (kind: NamedKind) => sql`
    select ${`${kind}_name`}, id, 'listed_twice', left(to_json(name)::text, 200)
    from (
      select id, name, first_value(name) over (
        partition by ${namedKey(kind, sql`id`)}, ${oneSpelling(sql`id`)} order by ordinal
      ) as first
      from ${stagedNames[kind]} where name is not null
    ) n
    where name <> first`
  await sql`
    insert into staged_left_out (unit, item, reason, excerpt)
    ${second('variable')} union all ${second('property')}`.execute(trx)
}

async function mergeNamesOf(trx: Transaction<Schema>, kind: NamedKind, pageId: number): Promise<void> {
  const { table, id: column, key } = namedRows[kind]
  const listed = stagedNames[kind]
  await sql`
    insert into ${table} (${column}, name)
    select id, name from (
      select distinct on (${oneSpelling(sql`id`)}) id, name from ${listed}
      where not ${isNamed(kind, sql`id`)}
      order by ${oneSpelling(sql`id`)}, ordinal
    ) missing
    order by id
    on conflict (${column}) do nothing`.execute(trx)
  await sql`
    with renamed as (
      select v.${key}, v.${column} as id, v.name as before, n.name as after
      from (
        select distinct on (${key}) ${key}, name
        from (select ${namedKey(kind, sql`id`)} as ${key}, name, ordinal from ${listed} where name is not null) given
        order by ${key}, ordinal
      ) n
      join ${table} v using (${key})
      where v.name is distinct from n.name
      order by v.${column}
      for no key update of v
    ), recorded as (${recordNames(kind, pageId)})
    update ${table} v set name = renamed.after
    from renamed where renamed.${key} = v.${key}`.execute(trx)
}

/** What is named for the first time is no change. */
function recordNames(kind: NamedKind, pageId: number): RawBuilder<unknown> {
  return sql`
    insert into name_change (kind, id, before, after, page_id)
    select ${kind}, id, before, after, ${pageId}::bigint from renamed where before is not null`
}
