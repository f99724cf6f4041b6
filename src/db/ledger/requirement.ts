import { type RawBuilder, sql } from 'kysely'

/** Per stream: the streams whose rows of the same property must be accepted before a row of it is sent. */
export type Requires = Readonly<Record<string, readonly string[]>>

/**
 * What streams require as a table `requirement (stream, required)`, to be read from in a query. As a list of values: a
 * function that unpacks a document is called for each row that is looked at.
 */
export function requirementTable(requires: Requires): RawBuilder<unknown> {
  const pairs = Object.entries(requires).flatMap(([stream, names]) =>
    names.map((required) => sql`(${stream}::text, ${required}::text)`),
  )
  if (pairs.length === 0) return sql`(select null::text, null::text where false) as requirement(stream, required)`
  return sql`(values ${sql.join(pairs)}) as requirement(stream, required)`
}

/**
 * Whether a row, which the query must call `row`, lacks something that its stream requires: what is required is there,
 * and all of it is accepted as it stands. What is gone at the partner and was never accepted counts as not there.
 */
export function lacksRequirement(requires: Requires): RawBuilder<boolean> {
  return sql<boolean>`exists (
    select from ${requirementTable(requires)}
    where requirement.stream = row.stream
      and not exists (
        select from ledger needed
        where needed.stream = requirement.required and needed.partner_id = row.partner_id
          and (needed.gone_at is null or not needed.pending)
        having count(*) > 0 and bool_and(not needed.pending)))`
}
