import { type RawBuilder, sql } from 'kysely'

/**
 * Whether a row of the view `ledger`, which the query must call `row`, is pending, for a query of few rows in a large
 * ledger. The planner takes nearly every row for pending, whatever it knows of the table, and would read all of them;
 * an array it takes for short, and looks its rows up.
 */
export const isAmongPending: RawBuilder<boolean> = sql<boolean>`row.row_id = any(array(
  select row_id from acceptance where accepted_hash is distinct from wanted_hash))`
