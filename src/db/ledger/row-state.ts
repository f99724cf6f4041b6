import { type RawBuilder, sql } from 'kysely'
import { lacksRequirement, type Requires } from './requirement.ts'

/** Where a row stands, in the words of docs/glossary.md. */
export const rowStates = ['accepted', 'in_flight', 'invalid', 'rejected', 'parked', 'unknown', 'pending'] as const
export type RowState = (typeof rowStates)[number]

/**
 * Where a ledger row, which the query must call `row`, stands. One state each, so that counts add up: what keeps a row
 * from being sent comes before what it waits for. `unknown` and `pending` go out in the next run.
 */
export function rowState(requires: Requires): RawBuilder<RowState> {
  return sql<RowState>`case
    when row.accepted_hash = row.desired_hash then 'accepted'
    when row.held_by is not null then 'in_flight'
    when row.invalid_reason is not null then 'invalid'
    when row.refused_hash = row.desired_hash then 'rejected'
    when ${lacksRequirement(requires)} then 'parked'
    when row.outcome = 'unknown' then 'unknown'
    -- The request as a whole was refused, and the row has not changed since.
    when row.outcome = 'rejected' and row.refused_hash is null and row.changed_at < row.outcome_at then 'rejected'
    else 'pending' end`
}
