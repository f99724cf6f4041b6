import { type RawBuilder, sql } from 'kysely'

/** What a pending row in such a state has, which its acceptance alone tells: more costs more to find out. */
const marks = {
  rejected: sql`(refused_hash is not null or outcome = 'rejected')`,
  invalid: sql`invalid_reason is not null`,
  unknown: sql`outcome = 'unknown'`,
  parked: sql`true`,
} as const

/**
 * Whether a row of the view `ledger`, which the query must call `row`, is pending, and may be in a state, for a query
 * of few rows in a large ledger. The planner takes nearly every row for pending, whatever it knows of the table, and
 * would read all of them; an array it takes for short, and looks its rows up.
 */
export function isAmongPending(state: keyof typeof marks | null = null): RawBuilder<boolean> {
  return sql<boolean>`row.row_id = any(array(
    select row_id from acceptance where accepted_hash is distinct from wanted_hash
      and ${state === null ? sql`true` : marks[state]}))`
}

/**
 * Rows of the view `ledger` as `row`, among them all that are pending and may be in a state which an outcome gave them,
 * with `newest`, the place of each. They come newest first, one after the other, so that a query with a limit judges no
 * more of them than it shows: of a million rejected rows only the outcomes are read, and sorted.
 * @param narrowed which of them, as far as the outcome of a `row` says.
 */
export function newestAmongPending(state: 'rejected' | 'unknown', narrowed: RawBuilder<boolean>): RawBuilder<unknown> {
  return sql`(
    select row_id, outcome_at from acceptance row
    where accepted_hash is distinct from wanted_hash and ${marks[state]} and ${narrowed}
    order by outcome_at desc, row_id) newest
    cross join lateral (select ledger.* from ledger where ledger.row_id = newest.row_id offset 0) row`
}
