import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { foundOtherwise } from './found-otherwise.ts'
import type { Requires } from './requirements.ts'
import { isSince } from './row-standing.ts'
import { isCarried } from './row-state.ts'
import type { RetryCounts } from './rows-to-retry.ts'
import { isSuspended, staysSuspended } from './suspended-hotels.ts'

/**
 * Makes ready what people asked to have sent again, once: a row that is rejected again stays so. At the beginning of a
 * run, because one that is under way has counted its rows already. The mark of a resend stays as long as anything
 * counts as accepted of its row: it came after `releaseResends`, or the guard holds the row. Where nothing does, the
 * row is pending whatever it says next. A mark of a row of a stream that no run sends, or of a suspended hotel, waits
 * for a run that does.
 * @param carried the streams that runs send.
 * @returns how many rows.
 */
export async function releaseRetries(db: Database, carried: readonly string[]): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with released as (
      update acceptance set refused_hash = null, retry_action = null
      from action, source_row row
      where action.action_id = acceptance.retry_action and retry_action is not null
        and row.row_id = acceptance.row_id and ${isCarried(carried)} and not ${isSuspended()}
        and accepted_hash is distinct from wanted_hash and (action.verb = 'retry' or accepted_hash is null)
      returning 1
    )
    select count(*) as rows from released`.execute(db)
  return rows[0]?.rows ?? 0
}

/** Which accepted rows are to be sent again; what is left out does not matter. */
export type ResendFilter = {
  stream?: string
  partnerId?: string
  partnerIds?: readonly string[]
  /** The submission that carried them. */
  submissionId?: number
  /** Accepted from this moment on. */
  since?: Date
  /** Shown otherwise than they were sent, as the last comparison found them: `foundOtherwise`. */
  difference?: 'absent' | 'different' | 'any'
  /** Of those, also what the service changed after it was sent. */
  alsoLater?: boolean
}

type ResendCounts = RetryCounts & {
  /** Of the rows: those that changed since they were accepted, or that the guard holds. */
  changed: number
}

/** Accepted as they stand, there at the partner, in no request, not held by the guard and not asked about already. */
const standsAccepted = sql<boolean>`(
  not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
    and row.retry_action is null)`

/**
 * Something counts as accepted of a row that is there at the partner, and nobody has asked for it yet. Its newest
 * content may be rejected, invalid, parked, held or in flight: once that is taken back, the row is accepted again with
 * what the service may have lost. A retry asked for the newest content alone.
 */
const countsAsAccepted = sql<boolean>`(
  row.accepted_hash is not null and row.gone_at is null
    and (row.retry_action is null
      or exists (select from action where action.action_id = row.retry_action and action.verb = 'retry')))`

/** Whether a row, which the query must call `row`, changed since it was accepted, or is held by the guard. */
const isChanged = sql<boolean>`(row.pending or row.guard_run is not null)`

/** Which rows a resend can mark. A row of a stream that no run sends stays accepted: it would never go out again. */
function resendable(carried: readonly string[], filter: ResendFilter): RawBuilder<boolean> {
  return sql<boolean>`(${isCarried(carried)} and ${isMeant(filter)})`
}

/** By a difference: what stands as it was accepted was compared, and nothing else. */
function isMeant(filter: ResendFilter): RawBuilder<boolean> {
  const { difference } = filter
  return sql<boolean>`(${difference === undefined ? countsAsAccepted : standsAccepted} and ${passesResend(filter)})`
}

function passesResend(filter: ResendFilter): RawBuilder<boolean> {
  const { stream, partnerId, partnerIds, submissionId, since, difference, alsoLater = false } = filter
  const conditions = [
    sql`true`,
    ...(stream === undefined ? [] : [sql`row.stream = ${stream}`]),
    ...(partnerId === undefined ? [] : [sql`row.partner_id = ${partnerId}`]),
    ...(partnerIds === undefined ? [] : [sql`row.partner_id = any(${partnerIds}::text[])`]),
    ...(submissionId === undefined
      ? []
      : [sql`row.row_id in (select row_id from submission_row where submission_id = ${submissionId})`]),
    ...(since === undefined ? [] : [sql`row.accepted_at >= ${since}`]),
    ...(difference === undefined
      ? []
      : [
          sql`row.row_id in (
            select found.row_id from (${foundOtherwise}) found
            where ${difference} in (found.kind, 'any') and (${alsoLater} or not found.later))`,
        ]),
  ]
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/**
 * How many rows of each stream a resend would mark, and how many of it are known.
 * @param carried the streams that runs send.
 */
export async function countResendable(
  db: Database,
  carried: readonly string[],
  filter: ResendFilter,
): Promise<(ResendCounts & { known: number })[]> {
  const { rows } = await sql<ResendCounts & { known: number }>`
    select marked.*,
           (select count(*) from source_row where source_row.stream = marked.stream and gone_at is null) as known
    from (
      select stream, count(*) as rows, count(*) filter (where ${staysSuspended}) as suspended,
             count(*) filter (where ${isChanged}) as changed
      from ledger row where ${resendable(carried, filter)} group by stream
    ) marked
    order by marked.stream`.execute(db)
  return rows
}

type LeftOut = {
  /** Found so before; the newest comparison did not judge them, or was not made. */
  unjudged: number
  /** Calculators with absent inputs that also hold different ones. */
  mixed: number
  /** Of streams that no run sends, because they were taken out of the configuration. */
  unconfigured: number
}

/** How many rows a resend leaves out that are as it asks, or that it would mark without the difference. */
export async function countLeftOut(db: Database, carried: readonly string[], filter: ResendFilter): Promise<LeftOut> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from ledger row where not ${isCarried(carried)} and ${isMeant(filter)}`.execute(db)
  return { ...(await countOpen(db, carried, filter)), unconfigured: rows[0]?.rows ?? 0 }
}

type Open = Omit<LeftOut, 'unconfigured'>

async function countOpen(
  db: Database,
  carried: readonly string[],
  { difference, ...filter }: ResendFilter,
): Promise<Open> {
  if (difference === undefined) return { unjudged: 0, mixed: 0 }
  const { rows } = await sql<Open>`
    select count(*) filter (where found.unjudged) as unjudged, count(*) filter (where not found.unjudged) as mixed
    from ledger row
    join (
      select row_id, array[one.kind] as kinds, unjudged or last.withheld is not null as unjudged,
             last.compared_at, last.submission_id as search
      from row_difference one
      left join (
        select distinct on (kind) kind, withheld, compared_at, submission_id from row_comparison
        order by kind, run_id desc
      ) last on last.kind = comparison
      union all
      select row_id, array_agg(kind), bool_or(unjudged) or max(last.withheld) is not null,
             max(last.compared_at), max(last.submission_id)
      from input_difference
      left join (
        select withheld, compared_at, submission_id from input_comparison order by run_id desc limit 1
      ) last on true
      where kind <> 'foreign'
      group by row_id
    ) found on found.row_id = row.row_id
    where ${isCarried(carried)} and ${standsAccepted} and ${passesResend(filter)}
      and (${difference} = 'any' or ${difference} = any(found.kinds))
      and (found.unjudged or ${difference} = 'absent' and 'different' = any(found.kinds)
        and not ${isSince(
          sql`row.accepted_at`,
          sql`row.outcome_submission`,
          sql`found.compared_at`,
          sql`found.search`,
        )})`.execute(db)
  return rows[0] ?? { unjudged: 0, mixed: 0 }
}

/** Some of the rows that a resend would mark. */
export async function resendableRows(
  db: Database,
  carried: readonly string[],
  filter: ResendFilter,
  limit: number,
): Promise<{ stream: string; partner_id: string; row_key: string; accepted_at: Date | null }[]> {
  const { rows } = await sql<{ stream: string; partner_id: string; row_key: string; accepted_at: Date | null }>`
    select stream, partner_id, row_key, accepted_at from ledger row where ${resendable(carried, filter)}
    order by partner_id, stream, row_id limit ${limit}`.execute(db)
  return rows
}

/**
 * Marks accepted rows to be sent again by the next run; the mark of a retry gives way. What waited for another
 * statement that marks sees in the view `ledger` how the row was before that one.
 * @returns how many of each stream.
 */
export async function markForResend(
  trx: Transaction<Schema>,
  actionId: number,
  carried: readonly string[],
  filter: ResendFilter,
): Promise<ResendCounts[]> {
  const { rows } = await sql<ResendCounts>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from ledger row
      where row.row_id = acceptance.row_id and ${resendable(carried, filter)}
        and acceptance.retry_action is not distinct from row.retry_action
      returning row.stream, ${staysSuspended} as suspended, ${isChanged} as changed
    )
    select stream, count(*) as rows, count(*) filter (where suspended) as suspended,
           count(*) filter (where changed) as changed
    from marked group by stream order by stream`.execute(trx)
  return rows
}

/**
 * Whether a row of the view `ledger` waits to be sent again as it was accepted: `releaseResends` released it, and it
 * has not changed since.
 */
export const isSentAgain = (row: RawBuilder<unknown>) => sql<boolean>`(
  ${row}.pending and ${row}.accepted_hash is null and ${row}.accepted_at is not null
    and ${row}.outcome_code is not distinct from 'sent_again' and ${row}.changed_at < ${row}.outcome_at)`

/**
 * Forgets that rows were accepted which are to be sent again: they are pending from here on. At the beginning of a run,
 * as retries are. Also of a row that changed since it was marked: its new content may be invalid or rejected, and what
 * was accepted must be sent again if the row changes back. One that is gone since loses its mark: it stays accepted,
 * and is pending once it returns. One that the guard holds keeps its mark for a run that finds it let go, and one of a
 * stream that no run sends, or of a suspended hotel, for one that does: what nobody sends again stays accepted.
 *
 * Accepted rows also lose the mark of a retry: a person wanted a rejected change to be sent, and it was taken back.
 *
 * They are compared with other rows again: accepted ones are not, when another row comes that they would write over.
 * They do not lose to one that was never accepted (`storeContradictions`). One that changed does, like any other that
 * did: so its outcome bears the date of the change (`isSentAgain`).
 *
 * What was rejected meanwhile of the rows that require them is tried again too: a service that had lost a mapping
 * rejects whatever is for its hotel.
 * @param carried the streams that runs send.
 * @returns how many rows were accepted, and are sent again.
 */
export async function releaseResends(db: Database, requires: Requires, carried: readonly string[]): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with let_go as (
      update acceptance
      set retry_action = null, refused_hash = case when accepted_hash = wanted_hash then refused_hash end
      from action, source_row row
      where action.action_id = acceptance.retry_action and retry_action is not null
        and row.row_id = acceptance.row_id and accepted_hash is not null
        and (row.gone_at is not null or action.verb = 'retry' and accepted_hash = wanted_hash)
    ),
    again as (
      update acceptance
      set retry_action = null, accepted_hash = null, refused_hash = null, judged_by = -abs(judged_by), outcome = null,
          outcome_code = 'sent_again',
          outcome_reason = format('%s by %s, so it is sent again (action %s)',
                                  case action.verb when 'repair' then 'found otherwise than it was sent, and asked for'
                                                   else 'asked for' end,
                                  action.acted_by, action.action_id),
          outcome_at = case when accepted_hash = wanted_hash then clock_timestamp() else row.changed_at end
      from action, source_row row
      where action.action_id = acceptance.retry_action and retry_action is not null
        and row.row_id = acceptance.row_id and row.gone_at is null and row.guard_run is null
        and ${isCarried(carried)} and not ${isSuspended()}
        and accepted_hash is not null and action.verb <> 'retry'
      returning acceptance.row_id, acceptance.partner_id
    ),
    required as (
      select distinct again.partner_id, row.stream from again join source_row row using (row_id)
    ),
    tried as (
      update acceptance
      set refused_hash = null, outcome = null, outcome_code = 'tried_again',
          outcome_reason = format('what it requires of %s is sent again, so it is tried again', required.stream),
          outcome_at = clock_timestamp()
      from required
      join jsonb_to_recordset(${JSON.stringify(requiredBy(requires))}::jsonb) as follows(required text, stream text)
        on follows.required = required.stream
      join source_row row on row.partner_id = required.partner_id and row.stream = follows.stream
      where acceptance.row_id = row.row_id and refused_hash is not null
    )
    select count(*) as rows from again`.execute(db)
  return rows[0]?.rows ?? 0
}

/** Each stream with every stream that it requires, also by way of others. Pure. */
function requiredBy(requires: Requires): { required: string; stream: string }[] {
  return Object.keys(requires).flatMap((stream) => {
    const found = new Set<string>()
    const open = [stream]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const required of requires[next] ?? []) {
        if (!found.has(required)) open.push(required)
        found.add(required)
      }
    }
    return [...found].map((required) => ({ required, stream }))
  })
}
