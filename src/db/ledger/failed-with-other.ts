import { type RawBuilder, sql } from 'kysely'

/**
 * Whether a row that is kept out was rejected with all of its property, and another of these rows is not any more what
 * it was then: that one may have been at fault, and nobody says which of them is. Of kinds of which the service takes
 * all rows of a property in a request, or none of them.
 * @param row what the query calls the row.
 * @param kindStreams an expression for the streams of such a kind, as a list of texts.
 */
export function failedWithOther(row: string, kindStreams: RawBuilder<unknown>): RawBuilder<boolean> {
  const column = (name: string) => sql.ref(`${row}.${name}`)
  return sql<boolean>`exists (
    select from ledger other
    where other.stream = any(${kindStreams}) and other.partner_id = ${column('partner_id')}
      and other.row_id <> ${column('row_id')} and other.outcome_submission = ${column('outcome_submission')}
      and (other.refused_hash is distinct from other.desired_hash or other.gone_at is not null))`
}
