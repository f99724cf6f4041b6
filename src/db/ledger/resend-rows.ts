import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { Requires } from './requirement.ts'

/** Which accepted rows are to be sent again; what is left out does not matter. */
export type ResendFilter = {
  stream?: string
  partnerId?: string
  /** The submission that carried them. */
  submissionId?: number
  /** Accepted from this moment on. */
  since?: Date
  /** Shown otherwise than they were sent, as the last comparison found them. */
  difference?: 'absent' | 'different' | 'any'
}

type ResendCounts = { stream: string; rows: number; known: number }

/** Accepted as they stand, there at the partner, in no request, not held by the guard and not asked about already. */
function resendable({ stream, partnerId, submissionId, since, difference }: ResendFilter): RawBuilder<boolean> {
  const differs = difference === 'any' ? sql`` : sql`and d.kind = ${difference ?? null}`
  const conditions = [
    sql`not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
      and row.retry_action is null`,
    ...(stream === undefined ? [] : [sql`row.stream = ${stream}`]),
    ...(partnerId === undefined ? [] : [sql`row.partner_id = ${partnerId}`]),
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

/** Marks accepted rows to be sent again by the next run. @returns how many. */
export async function markForResend(trx: Transaction<Schema>, actionId: number, filter: ResendFilter): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update acceptance set retry_action = ${actionId}
    from ledger row
    where row.row_id = acceptance.row_id and ${resendable(filter)}`.execute(trx)
  return Number(numAffectedRows)
}

/**
 * Forgets that rows were accepted which are to be sent again: they are pending from here on. At the beginning of a run,
 * as retries are. Of a row that changed since it was marked, its new content goes out anyway.
 *
 * What was rejected meanwhile of the rows that require them is tried again too: a service that had lost a mapping
 * rejects whatever is for its hotel.
 * @returns how many rows were accepted, and are sent again.
 */
export async function releaseResends(db: Database, requires: Requires): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with again as (
      update acceptance
      set retry_action = null, accepted_hash = null, outcome = null, outcome_code = 'sent_again',
          outcome_reason = format('%s by %s, so it is sent again (action %s)',
                                  case action.verb when 'repair' then 'found otherwise than it was sent, and asked for'
                                                   else 'asked for' end,
                                  action.acted_by, action.action_id),
          outcome_at = clock_timestamp()
      from action
      where action.action_id = acceptance.retry_action and retry_action is not null
        and accepted_hash is not distinct from wanted_hash
      returning row_id, acceptance.partner_id
    ),
    required as (
      select distinct again.partner_id, row.stream from again join source_row row using (row_id)
    ),
    tried as (
      update acceptance
      set refused_hash = null, outcome = null, outcome_code = 'sent_again',
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
