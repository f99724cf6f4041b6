import { type RawBuilder, sql } from 'kysely'

/**
 * Per stream of the configuration, which are those that runs read and send (carriedStreams): the streams whose rows of
 * the same property must be accepted before a row of it is sent.
 */
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
 * Whether a stream is one of the configuration: no run reads or sends rows of any other, whatever they wait for, and
 * nobody need wait for them. A configuration without a stream, by which somebody only looks at the ledger, says nothing
 * of what runs send: by it none is left out.
 * @param stream by default that of the `row` of the query.
 */
export function isConfigured(requires: Requires, stream: RawBuilder<unknown> = sql`row.stream`): RawBuilder<boolean> {
  const configured = Object.keys(requires)
  return configured.length === 0 ? sql<boolean>`true` : sql<boolean>`(${stream} = any(${configured}::text[]))`
}

/** The same of a stream that is named. Pure. */
export function isConfiguredStream(requires: Requires, stream: string): boolean {
  const configured = Object.keys(requires)
  return configured.length === 0 || configured.includes(stream)
}
