import { type RawBuilder, sql } from 'kysely'

/**
 * The one spelling of the id of a variable: a UUID is the same in capitals and in small letters. Of other ids the
 * specification says nothing, so each is as it is written. Most have no capitals, and are not looked at any further.
 * @param id a column of text, which no column of `calculator_variable` is called like.
 */
export function oneSpelling(id: RawBuilder<string>): RawBuilder<string> {
  return sql`case when ${id} = lower(${id}) then ${id}
    when ${id} ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then lower(${id}) else ${id} end`
}

const exact = (id: RawBuilder<string>) => sql`calculator_variable spelled where spelled.variable_id = ${id}`

/** The rows for any spelling of an id; the index knows them by small letters. */
const likewise = (id: RawBuilder<string>) => sql`calculator_variable spelled
  where lower(spelled.variable_id) = lower(${id})
    and ${oneSpelling(sql`spelled.variable_id`)} = ${oneSpelling(id)}`

/**
 * The key of the variable that an id names, in whatever spelling. Where rows for two spellings are there, from pages
 * before that was known, the one that is spelled so, or else the first; null where there is none. Nearly all are
 * spelled so, and found by that alone.
 * @param id a column of text, which no column of `calculator_variable` is called like.
 */
export function variableOf(id: RawBuilder<string>): RawBuilder<number | null> {
  return sql`coalesce(
    (select spelled.variable_key from ${exact(id)}),
    (select spelled.variable_key from ${likewise(id)} order by spelled.variable_key limit 1)
  )`
}

/** Whether there is a row for the variable that an id names, in any spelling. */
export function isVariable(id: RawBuilder<string>): RawBuilder<boolean> {
  return sql`(exists (select from ${exact(id)}) or exists (select from ${likewise(id)}))`
}
