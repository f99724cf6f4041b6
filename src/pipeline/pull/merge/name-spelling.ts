import { type RawBuilder, sql } from 'kysely'
import type { NamedKind } from '../../../db/tables/history-tables.ts'

/** Where variables and custom properties stand, and the columns of their ids and keys. */
export const namedRows = {
  variable: { table: sql`calculator_variable`, id: sql`variable_id`, key: sql`variable_key` },
  property: { table: sql`custom_property`, id: sql`property_id`, key: sql`property_key` },
} as const satisfies Record<NamedKind, object>

/**
 * The one spelling of the id of a variable or custom property: a UUID is the same in capitals and in small letters. Of
 * other ids the specification says nothing, so each is as it is written. Most have no capitals, and are not looked at
 * any further.
 * @param id a column of text.
 */
export function oneSpelling(id: RawBuilder<string>): RawBuilder<string> {
  return sql`case when ${id} = lower(${id}) then ${id}
    when ${id} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then lower(${id}) else ${id} end`
}

const exact = (kind: NamedKind, id: RawBuilder<string>) =>
  sql`${namedRows[kind].table} spelled where spelled.${namedRows[kind].id} = ${id}`

/** Whether an id that is known is another, in whatever spelling. The indexes know ids by small letters. */
export function alike(known: RawBuilder<string>, id: RawBuilder<string>): RawBuilder<boolean> {
  return sql`(lower(${known}) = lower(${id}) and ${oneSpelling(known)} = ${oneSpelling(id)})`
}

/** The rows for any spelling of an id. */
const likewise = (kind: NamedKind, id: RawBuilder<string>) =>
  sql`${namedRows[kind].table} spelled where ${alike(sql`spelled.${namedRows[kind].id}`, id)}`

/**
 * The key of the variable or custom property that an id names, in whatever spelling. Where rows for two spellings are
 * there, from pages before that was known, the one that is spelled so, or else the first; null where there is none.
 * Nearly all are spelled so, and found by that alone.
 * @param id a column of text, which no column of the kind's table is called like.
 */
export function namedKey(kind: NamedKind, id: RawBuilder<string>): RawBuilder<number | null> {
  const { key } = namedRows[kind]
  return sql`coalesce(
    (select spelled.${key} from ${exact(kind, id)}),
    (select spelled.${key} from ${likewise(kind, id)} order by spelled.${key} limit 1)
  )`
}

/** As `namedKey`, of a variable. */
export function variableOf(id: RawBuilder<string>): RawBuilder<number | null> {
  return namedKey('variable', id)
}

/**
 * The keys of the rows for other spellings of the variable or custom property that a key stands for, as a query: pages
 * before that was known may have left some.
 */
export function otherSpellings(kind: NamedKind, ofKey: RawBuilder<number>): RawBuilder<unknown> {
  const { table, id, key } = namedRows[kind]
  return sql`
    select other.${key} from ${table} mine join ${table} other on ${alike(sql`other.${id}`, sql`mine.${id}`)}
    where mine.${key} = ${ofKey} and other.${key} <> ${ofKey}`
}

/** Whether there is a row for the variable or custom property that an id names, in any spelling. */
export function isNamed(kind: NamedKind, id: RawBuilder<string>): RawBuilder<boolean> {
  return sql`(exists (select from ${exact(kind, id)}) or exists (select from ${likewise(kind, id)}))`
}

/**
 * The keys of the variables that the staged page lists, as a query. Where rows for two spellings of one are there, of
 * both: the page that lists the one leaves the other out of nothing.
 */
export const listedVariables: RawBuilder<{ variable_key: number }> = sql`
  select distinct v.variable_key
  from staged_variable_name n join calculator_variable v on ${alike(sql`v.variable_id`, sql`n.id`)}`

/** The same of custom properties. */
export const listedProperties: RawBuilder<{ property_key: number }> = sql`
  select distinct p.property_key
  from staged_property_name n join custom_property p on ${alike(sql`p.property_id`, sql`n.id`)}`
