import { type RawBuilder, sql } from 'kysely'
import { heldRun } from '../guard/guard-plan.ts'
import { keyDeniedSince } from '../service-key/service-key.ts'
import { behindRequest } from './overdue-request.ts'
import { isConfigured, type Requires, requirementTable } from './requirements.ts'
import { isSuspended } from './suspended-hotels.ts'

/** Where a row stands, in the words of docs/glossary.md. */
const rowStates = [
  'gone',
  'accepted',
  'in_flight',
  'unconfigured',
  'invalid',
  'rejected',
  'held',
  'parked',
  'unknown',
  'pending',
] as const

export type RowState = (typeof rowStates)[number]

/**
 * Where a row of the view `ledger`, which the query must call `row`, stands. One state each, so that counts add up:
 * what keeps a row from being sent comes before what it waits for. `unknown` and `pending` go out in the next run.
 * `gone` rows carry a tombstone, and `held` ones wait for approval: the order is that of the sums of a report
 * (report-rows.ts). While the service does not accept the key, whatever could be sent otherwise is parked, also what is
 * planned already; and so is what waits behind an overdue request, or is of a hotel that people have suspended. What is
 * pending of a stream that is not in the configuration is `unconfigured`, whatever else is wrong with it: no run sends
 * it, and nobody need do anything.
 */
export function rowState(requires: Requires): RawBuilder<RowState> {
  return sql<RowState>`case
    when row.gone_at is not null then 'gone'
    when not row.pending then 'accepted'
    when row.held_by is not null then
      case when ${keyDeniedSince} is not null
                and (select state = 'planned' from submission where submission_id = row.held_by) then 'parked'
           else 'in_flight' end
    when not ${isConfigured(requires)} then 'unconfigured'
    when row.invalid_reason is not null then 'invalid'
    when row.refused_hash = row.desired_hash then 'rejected'
    when row.guard_run is not null then 'held'
    when ${isSuspended()} or ${lacksRequirement(requires)} then 'parked'
    -- The guard stops a run as a whole.
    when ${heldRun(requires)} is not null then 'held'
    when ${keyDeniedSince} is not null or ${behindRequest} is not null then 'parked'
    when row.outcome = 'unknown' then 'unknown'
    -- The request as a whole was refused, and the row has not changed since.
    when row.outcome = 'rejected' and row.refused_hash is null and row.changed_at < row.outcome_at then 'rejected'
    else 'pending' end`
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

/**
 * Whether a row is still unmarked as it is updated. What waited for another statement that marks sees in the view
 * `ledger` how the row was before that one.
 */
export const isUnmarked = sql<boolean>`acceptance.retry_action is null`

/**
 * Whether a row, which the query must call `row`, is of a stream that runs send. What is marked or made ready of any
 * other goes out with no run.
 * @param carried the streams that runs send.
 */
export const isCarried = (carried: readonly string[]): RawBuilder<boolean> =>
  sql<boolean>`(row.stream = any(${carried}::text[]))`
