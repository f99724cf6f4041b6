import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../db/database.ts'

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

/**
 * Forgets what was removed before a moment: it cannot be brought back any more.
 * @returns how many values and property values.
 */
export async function forgetRemoved(db: Database, removedBefore: Date): Promise<number> {
  const values = await db.deleteFrom('removed_value').where('removed_at', '<', removedBefore).executeTakeFirstOrThrow()
  const properties = await db
    .deleteFrom('removed_property')
    .where('removed_at', '<', removedBefore)
    .executeTakeFirstOrThrow()
  return Number(values.numDeletedRows + properties.numDeletedRows)
}
