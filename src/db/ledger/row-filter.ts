import { type RawBuilder, sql } from 'kysely'

/** Which rows a person asks about; what is left out does not matter. */
export type RowFilter = {
  stream?: string
  partnerId?: string
  /** A part of the code or of the words that stand with it, in any case of letters. */
  reason?: string
  /** Rows whose state is from this moment or later. */
  since?: Date
}

/**
 * Whether a row, which the query must call `row`, passes a filter; the query says what its code, words and moment are.
 */
export function passes(
  filter: RowFilter,
  told: { code: RawBuilder<unknown>; reason: RawBuilder<unknown>; at: RawBuilder<unknown> },
): RawBuilder<boolean> {
  const { stream, partnerId, reason, since } = filter
  const conditions = [
    stream === undefined ? null : sql`row.stream = ${stream}`,
    partnerId === undefined ? null : sql`row.partner_id = ${partnerId}`,
    reason === undefined
      ? null
      : sql`position(lower(${reason}) in lower(concat_ws(' ', ${told.code}, ${told.reason}))) > 0`,
    since === undefined ? null : sql`${told.at} >= ${since}`,
  ].filter((condition) => condition !== null)
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** A filter in two: what the outcome of a row says, with its partner id, and what only the row itself says. */
export function splitFilter({ stream, ...ofOutcome }: RowFilter): { ofOutcome: RowFilter; ofRow: RowFilter } {
  return { ofOutcome, ofRow: stream === undefined ? {} : { stream } }
}
