import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { keyInUse } from '../service-key/service-key.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { RepairHeldTable } from '../tables/difference-tables.ts'
import { isAmongPending, isSince, passes, type Requires, type RowFilter } from './row-state.ts'

export type RetryCounts = { stream: string; rows: number }

/**
 * Rejected as they are, there at the partner, not held by the guard, and not asked about again yet: what a retry can
 * mark. The query must call the row `row`.
 */
function retryable(filter: RowFilter): RawBuilder<boolean> {
  const told = { code: sql`row.outcome_code`, reason: sql`row.outcome_reason`, at: sql`row.outcome_at` }
  return sql<boolean>`(
    row.pending
    and row.refused_hash = row.desired_hash
    and row.invalid_reason is null
    and row.held_by is null
    and row.gone_at is null
    and row.guard_run is null
    and row.retry_action is null
    and ${passes(filter, told)})`
}

/** How many rows of each stream a retry would mark. */
export async function countRetryable(db: Database, filter: RowFilter): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    select stream, count(*) as rows from ledger row
    where ${isAmongPending('rejected')} and ${retryable(filter)} group by stream order by stream`.execute(db)
  return rows
}

/** Some of the rows that a retry would mark, oldest verdict first. */
export async function retryableRows(
  db: Database,
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
    where ${isAmongPending('rejected')} and ${retryable(filter)}
    order by outcome_at, row_id
    limit ${limit}`.execute(db)
  return rows
}

/**
 * Whether a row is still unmarked as it is updated. What waited for another statement that marks sees in the view
 * `ledger` how the row was before that one.
 */
const isUnmarked = sql<boolean>`acceptance.retry_action is null`

/** Marks rows that were rejected, to be sent again by the next run. @returns how many of each stream. */
export async function markForRetry(
  trx: Transaction<Schema>,
  actionId: number,
  filter: RowFilter,
): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from ledger row
      where row.row_id = acceptance.row_id and ${retryable(filter)} and ${isUnmarked}
      returning row.stream
    )
    select stream, count(*) as rows from marked group by stream order by stream`.execute(trx)
  return rows
}

/**
 * Makes ready what people asked to have sent again, once: a row that is rejected again stays so. At the beginning of a
 * run, because one that is under way has counted its rows already. A mark of an accepted row is that of a resend which
 * came after `releaseResends`, and waits for the next run.
 * @returns how many rows.
 */
export async function releaseRetries(db: Database): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with released as (
      update acceptance set refused_hash = null, retry_action = null
      where retry_action is not null and accepted_hash is distinct from wanted_hash
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
  /** Shown otherwise than they were sent, as the last comparison found them. */
  difference?: 'absent' | 'different' | 'any'
}

type ResendCounts = { stream: string; rows: number; known: number }

/** Accepted as they stand, there at the partner, in no request, not held by the guard and not asked about already. */
function resendable(filter: ResendFilter): RawBuilder<boolean> {
  const { stream, partnerId, partnerIds, submissionId, since, difference } = filter
  const differs = difference === 'any' ? sql`` : sql`and d.kind = ${difference ?? null}`
  const conditions = [
    sql`not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
      and row.retry_action is null`,
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
          sql`(row.row_id in (select d.row_id from row_difference d where true ${differs})
            or row.row_id in (select d.row_id from input_difference d where d.kind <> 'foreign' ${differs}))`,
        ]),
  ]
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/** How many rows of each stream a resend would mark, and how many of it are known. */
export async function countResendable(db: Database, filter: ResendFilter): Promise<ResendCounts[]> {
  const { rows } = await sql<ResendCounts>`
    select marked.stream, marked.rows,
           (select count(*) from source_row where source_row.stream = marked.stream and gone_at is null) as known
    from (select stream, count(*) as rows from ledger row where ${resendable(filter)} group by stream) marked
    order by marked.stream`.execute(db)
  return rows
}

/** Some of the rows that a resend would mark. */
export async function resendableRows(
  db: Database,
  filter: ResendFilter,
  limit: number,
): Promise<{ stream: string; partner_id: string; row_key: string; accepted_at: Date | null }[]> {
  const { rows } = await sql<{ stream: string; partner_id: string; row_key: string; accepted_at: Date | null }>`
    select stream, partner_id, row_key, accepted_at from ledger row where ${resendable(filter)}
    order by partner_id, stream, row_id limit ${limit}`.execute(db)
  return rows
}

/** Marks accepted rows to be sent again by the next run. @returns how many of each stream. */
export async function markForResend(
  trx: Transaction<Schema>,
  actionId: number,
  filter: ResendFilter,
): Promise<RetryCounts[]> {
  const { rows } = await sql<RetryCounts>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from ledger row
      where row.row_id = acceptance.row_id and ${resendable(filter)} and ${isUnmarked}
      returning row.stream
    )
    select stream, count(*) as rows from marked group by stream order by stream`.execute(trx)
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
 * as retries are. Of a row that changed since it was marked, its new content goes out anyway. One that is gone since
 * loses its mark: it stays accepted, and is pending once it returns. One that the guard holds keeps its mark for a run
 * that finds it let go.
 *
 * They are compared with other rows again: accepted ones are not, when another row comes that they would write over.
 * They do not lose to one that was never accepted (`storeContradictions`).
 *
 * What was rejected meanwhile of the rows that require them is tried again too: a service that had lost a mapping
 * rejects whatever is for its hotel.
 * @returns how many rows were accepted, and are sent again.
 */
export async function releaseResends(db: Database, requires: Requires): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with gone as (
      update acceptance set retry_action = null
      from source_row row
      where row.row_id = acceptance.row_id and retry_action is not null
        and accepted_hash is not distinct from wanted_hash and row.gone_at is not null
    ),
    again as (
      update acceptance
      set retry_action = null, accepted_hash = null, judged_by = -abs(judged_by), outcome = null,
          outcome_code = 'sent_again',
          outcome_reason = format('%s by %s, so it is sent again (action %s)',
                                  case action.verb when 'repair' then 'found otherwise than it was sent, and asked for'
                                                   else 'asked for' end,
                                  action.acted_by, action.action_id),
          outcome_at = clock_timestamp()
      from action, source_row row
      where action.action_id = acceptance.retry_action and retry_action is not null
        and row.row_id = acceptance.row_id and row.gone_at is null and row.guard_run is null
        and accepted_hash is not distinct from wanted_hash
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

/** What of a stream could be sent again over what was found of it, and how many rows of it are known. */
export type Repairable = { stream: string; kind: 'absent' | 'different'; rows: number; known: number }

/**
 * By how much the service's clock is ahead of ours at least: the later a change of the service's may have been, the
 * less is written over.
 */
const serviceAhead = sql`coalesce((
  select used_key.skew_low_ms from ${keyInUse} used_key), 0) * interval '1 millisecond'`

/**
 * Rows found otherwise than they were sent, that were not sent again over it yet. Once per finding: what is still
 * absent after it was sent again is for a person, and what was accepted since the comparison is for the next one, as is
 * what the newest comparison did not judge, or all of it where that was withheld: something else may stand there since
 * it was found. Of a different one the
 * service's own change, which bears the time of the service's clock, must not be younger than ours, of which nothing is
 * known while the time of ours lies ahead.
 */
const repairable = sql`
  select d.row_id, d.kind, row.stream
  from (
    select row_id, row_difference.kind, changed_there_at, last.compared_at, last.submission_id as search
    from row_difference
    left join (
      select distinct on (kind) kind, compared_at, submission_id, withheld from row_comparison
      order by kind, run_id desc
    ) last on last.kind = comparison
    where resent_by_run is null and not unjudged and last.withheld is null
    union
    -- Of a calculator, the row goes out whole: it writes over every input, also what differs or was not judged.
    select row_id, max(kind), null::timestamptz, max(last.compared_at), max(last.submission_id)
    from input_difference
    left join (
      select compared_at, submission_id, withheld from input_comparison order by run_id desc limit 1
    ) last on true
    where kind <> 'foreign' and last.withheld is null
    group by row_id having bool_or(resent_by_run is null) and not bool_or(unjudged)
  ) d
  join ledger row using (row_id)
  where not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
    and row.retry_action is null
    and not ${isSince(sql`row.accepted_at`, sql`row.outcome_submission`, sql`d.compared_at`, sql`d.search`)}
    and (d.kind = 'absent' or d.changed_there_at is null
      or d.changed_there_at - ${serviceAhead} <= row.accepted_at and row.accepted_at <= clock_timestamp())`

export async function countRepairable(trx: Transaction<Schema>): Promise<Repairable[]> {
  const { rows } = await sql<Repairable>`
    select found.stream, found.kind, found.rows,
           (select count(*) from source_row where source_row.stream = found.stream and gone_at is null) as known
    from (select stream, kind, count(*) as rows from (${repairable}) found_row group by stream, kind) found
    order by found.stream, found.kind`.execute(trx)
  return rows
}

/** Marks what was found of one stream and kind, to be sent again by the next run. @returns how many rows. */
export async function markForRepair(
  trx: Transaction<Schema>,
  actionId: number,
  runId: number,
  { stream, kind }: Pick<Repairable, 'stream' | 'kind'>,
): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from (${repairable}) found
      where found.row_id = acceptance.row_id and found.stream = ${stream} and found.kind = ${kind} and ${isUnmarked}
      returning acceptance.row_id
    ),
    told as (
      update row_difference set resent_by_run = ${runId} from marked where marked.row_id = row_difference.row_id
    ),
    told_inputs as (
      update input_difference set resent_by_run = ${runId} from marked where marked.row_id = input_difference.row_id
    )
    select count(*) as rows from marked`.execute(trx)
  return rows[0]?.rows ?? 0
}

/** Notes what is more than the guard lets through. */
export async function noteUnsentRepair(trx: Transaction<Schema>, held: RepairHeldTable): Promise<void> {
  await trx
    .insertInto('repair_held')
    .values(held)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** What a run found and did not have sent again by itself. */
export async function unsentRepairs(db: Database, runId: number): Promise<RepairHeldTable[]> {
  return await db.selectFrom('repair_held').selectAll().where('run_id', '=', runId).orderBy('stream').execute()
}
