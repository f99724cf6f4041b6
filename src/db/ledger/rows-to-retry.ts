import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { passes, type RowFilter } from './row-filter.ts'
import { isAmongPending, isCarried, isUnmarked } from './row-state.ts'
import { isSuspended, staysSuspended } from './suspended-hotels.ts'

/** Which rejected rows are sent again as they are, with the code as the service spells it. */
export type ResendPolicy = {
  /** Null: any. */
  stream: string | null
  code: string
  /** Milliseconds after the rejection. */
  after_ms: number
  /** How often the same content is sent again at most; null: without a bound. */
  times: number | null
}

/** When a policy sends a row again, and how often it has; all null where none does, or not any more. */
export type PolicyWords = { policy_after: Date | null; policy_sent: number | null; policy_times: number | null }

/**
 * The first policy that fits a row, which the query must call `row` and which was rejected, as the columns of
 * `PolicyWords`. No line where none fits, or where the content was sent again as often as it says. A rejection that
 * lies ahead was dated by a clock that has been put back since: nobody knows how long ago it was, and it is due.
 */
export function policyOf(policies: readonly ResendPolicy[]): RawBuilder<unknown> {
  const numbered = policies.map((policy, ordinal) => ({ ...policy, ordinal }))
  const sent = sql`case when row.resent_hash = row.desired_hash then row.resent_count else 0 end`
  return sql`(
    select case when row.outcome_at > clock_timestamp() then clock_timestamp()
                else row.outcome_at + first.after_ms * interval '1 millisecond' end as policy_after,
           ${sent} as policy_sent, first.times as policy_times
    from (
      select policy.*
      from jsonb_to_recordset(${JSON.stringify(numbered)}::jsonb)
        as policy(ordinal integer, stream text, code text, after_ms bigint, times integer)
      where policy.code = row.outcome_code and (policy.stream is null or policy.stream = row.stream)
      order by ordinal
      limit 1
    ) first
    where first.times is null or ${sent} < first.times)`
}

/**
 * Whether a row, called `row`, would go out as it is, but for its rejection. An invalid one would not, and is rejected
 * no less once it is valid: it waits for a policy, or a person, until then.
 */
const isKeptOut = sql<boolean>`(
  row.pending and row.refused_hash = row.desired_hash and row.invalid_reason is null and row.held_by is null
    and row.gone_at is null and row.guard_run is null)`

/**
 * Makes ready what the policies send again by now. Once a run, as its preflight begins: a row that is rejected again
 * waits for the next one, so a policy without a bound is no loop. The count is of this very content; other content
 * begins again.
 * @param carried the streams that runs send: a row of another one waits for a run that sends it, and so does one of a
 * suspended hotel.
 * @returns how many rows.
 */
export async function releaseByPolicy(
  db: Database,
  carried: readonly string[],
  policies: readonly ResendPolicy[],
  now: Date,
): Promise<number> {
  if (policies.length === 0) return 0
  const codes = policies.map(({ code }) => code)
  const { rows } = await sql<{ rows: number }>`
    with due as (
      select row.row_id, policy.policy_sent
      from ledger row
      cross join lateral ${policyOf(policies)} policy
      where row.refused_hash is not null and row.outcome_code = any(${codes}::text[])
        and ${isKeptOut} and ${isCarried(carried)} and not ${isSuspended()}
        -- The server's own clock dated the outcome: where ours is behind it, ours says nothing.
        and policy.policy_after <= greatest(${now}, clock_timestamp())
    ),
    released as (
      update acceptance
      set refused_hash = null, resent_hash = wanted_hash, resent_count = due.policy_sent + 1
      from due
      where acceptance.row_id = due.row_id
      returning 1
    )
    select count(*) as rows from released`.execute(db)
  return rows[0]?.rows ?? 0
}

export type RetryCounts = {
  stream: string
  rows: number
  /** Of the rows: those of suspended hotels, which wait until these are resumed. */
  suspended: number
}

/**
 * Of a stream that runs send, rejected as they are, there at the partner, not held by the guard, and not asked about
 * again yet: what a retry can mark. The query must call the row `row`.
 */
function retryable(carried: readonly string[], filter: RowFilter): RawBuilder<boolean> {
  const told = { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` }
  return sql<boolean>`(
    ${isCarried(carried)}
    and ${isKeptOut}
    and row.retry_action is null
    and ${passes(filter, told)})`
}

/**
 * How many rows of each stream a retry would mark.
 * @param carried the streams that runs send.
 */
export async function countRetryable(
  db: Database,
  carried: readonly string[],
  filter: RowFilter,
): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    select stream, count(*) as rows, count(*) filter (where ${staysSuspended}) as suspended from ledger row
    where ${isAmongPending('rejected')} and ${retryable(carried, filter)} group by stream order by stream`.execute(db)
  return rows
}

/** Some of the rows that a retry would mark, oldest verdict first. */
export async function retryableRows(
  db: Database,
  carried: readonly string[],
  filter: RowFilter,
  limit: number,
): Promise<{ stream: string; partner_id: string; row_key: string; code: string | null; reason: string | null }[]> {
  const { rows } = await sql<{
    stream: string
    partner_id: string
    row_key: string
    code: string | null
    reason: string | null
  }>`
    select stream, partner_id, row_key, outcome_code as code, outcome_reason as reason
    from ledger row
    where ${isAmongPending('rejected')} and ${retryable(carried, filter)}
    order by outcome_at, row_id
    limit ${limit}`.execute(db)
  return rows
}

/** Marks rows that were rejected, to be sent again by the next run. @returns how many of each stream. */
export async function markForRetry(
  trx: Transaction<Schema>,
  actionId: number,
  carried: readonly string[],
  filter: RowFilter,
): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from ledger row
      where row.row_id = acceptance.row_id and ${retryable(carried, filter)} and ${isUnmarked}
      returning row.stream, ${staysSuspended} as suspended
    )
    select stream, count(*) as rows, count(*) filter (where suspended) as suspended
    from marked group by stream order by stream`.execute(trx)
  return rows
}
