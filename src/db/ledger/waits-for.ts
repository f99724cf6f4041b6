import { type RawBuilder, sql } from 'kysely'
import { heldRun } from '../guard/guard-plan.ts'
import { keyRequirement } from '../service-key/key-in-use.ts'
import type { RequirementState, WaitsFor } from './parked-reason.ts'
import { type Requires, requirementTable } from './requirement.ts'

/** The fragment's columns as JSON; all null, or null as a whole, where a row waits for nothing. */
export type MaybeWaits = { [K in keyof WaitsFor]: WaitsFor[K] | null } | null

/**
 * The first requirement of a row, which the query must call `row`, that is not met, and where it stands; where all are
 * met, that the service accepts the key, if it does not.
 */
export function waitsFor(requires: Requires): RawBuilder<unknown> {
  const state: RawBuilder<RequirementState> = sql`case
    when needed.row_id is null then 'missing'
    when needed.gone_at is not null then 'gone'
    when needed.held_by is not null then 'in_flight'
    when needed.invalid_reason is not null then 'invalid'
    when needed.refused_hash = needed.desired_hash then 'rejected'
    when needed.guard_run is not null or ${heldRun} is not null then 'held'
    when needed.outcome = 'unknown' then 'unknown'
    else 'pending' end`
  const ofStreams = sql`(
    select requirement.required, ${state} as requirement_state, needed.outcome_code as requirement_code,
           coalesce(needed.invalid_reason, needed.outcome_reason) as requirement_reason,
           needed.held_by as requirement_held_by, coalesce(needed.guard_run, ${heldRun}) as requirement_guard_run,
           null::timestamptz as requirement_since
    from ${requirementTable(requires)}
    left join ledger needed
      on needed.stream = requirement.required and needed.partner_id = row.partner_id
    where requirement.stream = row.stream
      and (needed.row_id is null or needed.pending)
      -- What is gone and was never accepted counts as not there: it is told of only where nothing else is there.
      and (needed.gone_at is null or not exists (
        select from ledger other
        where other.stream = requirement.required and other.partner_id = row.partner_id
          and (other.gone_at is null or not other.pending)))
    order by needed.row_id nulls first
    limit 1)`
  return sql`(
    select required, requirement_state, requirement_code, requirement_reason, requirement_held_by,
           requirement_guard_run, requirement_since
    from (select 1 as rank, streams.* from ${ofStreams} streams
          union all
          select 2 as rank, key.* from ${keyRequirement} key) ranked
    order by rank
    limit 1)`
}

/** What a row waits for, read from the fragment's columns. */
export function waitingOn(waits: MaybeWaits): WaitsFor | null {
  if (waits === null || waits.required === null || waits.requirement_state === null) return null
  return { ...waits, required: waits.required, requirement_state: waits.requirement_state }
}
