import { type RawBuilder, sql } from 'kysely'
import { heldRun } from '../guard/guard-plan.ts'
import { keyRequirement } from '../service-key/service-key.ts'
import { overdueRequirement } from './overdue-request.ts'
import { isConfigured, type Requires, requirementTable } from './requirements.ts'
import { suspensionRequirement } from './suspended-hotels.ts'

/**
 * Where what a parked row waits for stands; `missing`: the partner never had such a row; `gone`: has it no longer;
 * `unconfigured`: its stream is not in the configuration; `key`: it waits for no row, but for the service to accept the
 * API key; `overdue`: nor for that, but for a request that carries rows of the same hotel to end; `suspended`: nor for
 * these, but for a person, who has suspended its hotel; `next_run`: who has resumed it.
 */
export type RequirementState =
  | 'missing'
  | 'gone'
  | 'held'
  | 'in_flight'
  | 'invalid'
  | 'rejected'
  | 'unknown'
  | 'pending'
  | 'unconfigured'
  | 'key'
  | 'overdue'
  | 'suspended'
  | 'next_run'

/** What a parked row waits for. */
type WaitsFor = {
  /** The stream that is required; `key`, `submission`, `hotel` or `pilot` where it is none. */
  required: string
  requirement_state: RequirementState
  requirement_code: string | null
  requirement_reason: string | null
  requirement_held_by: number | null
  /** The run whose guard holds it. */
  requirement_guard_run: number | null
  /** Since when the service does not accept the key, or the hotel is suspended or resumed, as JSON has it. */
  requirement_since: string | null
}

/** Since when the service does not accept the key, its words, and what to do, as one clause. Pure. */
export function keyDeniedWords(since: Date, said: readonly (string | null)[]): string {
  const words = said.filter((part) => part !== null).join(': ')
  return `the service does not accept the API key (401${words === '' ? '' : ` ${words}`}) since ${minuteOf(since)} UTC: set EXCHANGE_API_KEY`
}

function minuteOf(at: Date): string {
  return at.toISOString().slice(0, 16).replace('T', ' ')
}

/** Why a row is parked, and what would release it, in words. Pure. */
export function parkedReason(waits: WaitsFor, partnerId: string): string {
  const { required, requirement_state: state, requirement_code: code, requirement_reason: reason } = waits
  const said = [code, reason].filter((part) => part !== null).join(': ')
  const since = new Date(waits.requirement_since ?? 0)
  switch (state) {
    case 'missing':
      return `it requires ${required} of ${partnerId}, and the partner's database has delivered none`
    case 'gone':
      return `its ${required} row is gone at the partner and was never accepted; it is released when that is there again`
    case 'held':
      return `its ${required} row is held by the guard (run ${waits.requirement_guard_run}): nightferry approve ${waits.requirement_guard_run} lets it through`
    case 'in_flight':
      return `its ${required} row is in submission ${waits.requirement_held_by}; it is released when that is accepted`
    case 'invalid':
      return `its ${required} row is invalid (${said}): fix that one`
    case 'rejected':
      return `its ${required} row was rejected by the service (${said}): fix that one, or retry it`
    case 'unknown':
      return `nobody knows what became of its ${required} row (${said}); the next run sends that one again`
    case 'key':
      return keyDeniedWords(since, [code, reason])
    case 'pending':
      return `its ${required} row is pending; the next run sends that one first`
    case 'unconfigured':
      return `it requires ${required}, which is not in the configuration: no run reads or sends that row`
    case 'overdue':
      return `rows of its hotel are in submission ${waits.requirement_held_by}, which is overdue: each run looks at it again; if it never ends: docs/runbook.md, "A task that does not end"`
    case 'suspended':
      return required === 'pilot'
        ? `its hotel is not in the pilot, which began on ${minuteOf(since)} UTC (${reason}): nightferry hotels resume ${partnerId} adds it`
        : `its hotel is suspended since ${minuteOf(since)} UTC (${reason}): nightferry hotels resume ${partnerId} lets it go`
    case 'next_run':
      return `its hotel was suspended until ${minuteOf(since)} UTC (resumed ${reason}): the next run sends it`
    default:
      return state satisfies never
  }
}

/** The fragment's columns as JSON; all null, or null as a whole, where a row waits for nothing. */
export type MaybeWaits = { [K in keyof WaitsFor]: WaitsFor[K] | null } | null

/**
 * What a row, which the query must call `row`, waits for: that its hotel is resumed, if that is suspended; else the
 * first requirement that is not met, and where it stands; where all are met, that the service accepts the key, if it
 * does not; and then the overdue request that it waits behind.
 */
export function waitsFor(requires: Requires): RawBuilder<unknown> {
  const state: RawBuilder<RequirementState> = sql`case
    when needed.held_by is null and not ${isConfigured(requires, sql`requirement.required`)} then 'unconfigured'
    when needed.row_id is null then 'missing'
    when needed.gone_at is not null then 'gone'
    when needed.held_by is not null then 'in_flight'
    when needed.invalid_reason is not null then 'invalid'
    when needed.refused_hash = needed.desired_hash then 'rejected'
    when needed.guard_run is not null or ${heldRun(requires)} is not null then 'held'
    when needed.outcome = 'unknown' then 'unknown'
    else 'pending' end`
  const ofStreams = sql`(
    select required, requirement_state,
           case when requirement_state in ('rejected', 'unknown') then outcome_code end as requirement_code,
           -- The last outcome of a row may be of an earlier content.
           case when requirement_state in ('rejected', 'unknown') then outcome_reason
                when requirement_state = 'invalid' then invalid_reason end as requirement_reason,
           requirement_held_by, requirement_guard_run, null::timestamptz as requirement_since
    from (
      select requirement.required, ${state} as requirement_state, needed.outcome_code, needed.outcome_reason,
             needed.invalid_reason, needed.held_by as requirement_held_by,
             coalesce(needed.guard_run, ${heldRun(requires)}) as requirement_guard_run
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
      limit 1
    ) needed_first)`
  return sql`(
    select required, requirement_state, requirement_code, requirement_reason, requirement_held_by,
           requirement_guard_run, requirement_since
    from (select 0 as rank, suspension.* from ${suspensionRequirement} suspension
          union all
          select 1 as rank, streams.* from ${ofStreams} streams
          union all
          select 2 as rank, key.* from ${keyRequirement} key
          union all
          select 3 as rank, overdue.* from ${overdueRequirement} overdue) ranked
    order by rank
    limit 1)`
}

/** What a row waits for, read from the fragment's columns. */
export function waitingOn(waits: MaybeWaits): WaitsFor | null {
  if (waits === null || waits.required === null || waits.requirement_state === null) return null
  return { ...waits, required: waits.required, requirement_state: waits.requirement_state }
}
