import { type RawBuilder, sql } from 'kysely'

/**
 * The part of a statement that keeps what its other part, called `source`, has removed of values: rows with the key of
 * a value and `before`. What is kept can be brought back.
 */
export function keepRemovedValues(source: 'removed' | 'gone_values', submissionId: number): RawBuilder<unknown> {
  return sql`
    insert into removed_value (company_key, calculator_key, direction, variable_key, value, submission_id)
    select company_key, calculator_key, direction, variable_key, before, ${submissionId}::bigint
    from ${sql.table(source)}`
}

/** The same of property values. */
export function keepRemovedProperties(source: 'removed', submissionId: number): RawBuilder<unknown> {
  return sql`
    insert into removed_property (company_key, property_key, ordinal, value, submission_id)
    select company_key, property_key, ordinal, value, ${submissionId}::bigint from ${sql.table(source)}`
}
