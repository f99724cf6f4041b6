import { type RawBuilder, sql } from 'kysely'
import { heldRun } from '../guard/guard-plan.ts'
import { keyDeniedSince } from '../service-key/key-in-use.ts'
import { lacksRequirement, type Requires } from './requirement.ts'

/** Where a row stands, in the words of docs/glossary.md. */
const rowStates = [
  'gone',
  'accepted',
  'in_flight',
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
 * planned already.
 */
export function rowState(requires: Requires): RawBuilder<RowState> {
  return sql<RowState>`case
    when row.gone_at is not null then 'gone'
    when not row.pending then 'accepted'
    when row.held_by is not null then
      case when ${keyDeniedSince} is not null
                and (select state = 'planned' from submission where submission_id = row.held_by) then 'parked'
           else 'in_flight' end
    when row.invalid_reason is not null then 'invalid'
    when row.refused_hash = row.desired_hash then 'rejected'
    when row.guard_run is not null then 'held'
    when ${lacksRequirement(requires)} then 'parked'
    -- The guard stops a run as a whole.
    when ${heldRun} is not null then 'held'
    when ${keyDeniedSince} is not null then 'parked'
    when row.outcome = 'unknown' then 'unknown'
    -- The request as a whole was refused, and the row has not changed since.
    when row.outcome = 'rejected' and row.refused_hash is null and row.changed_at < row.outcome_at then 'rejected'
    else 'pending' end`
}
