import { text } from 'node:stream/consumers'
import { sql, type Transaction } from 'kysely'
import type { Database } from '../../db/database.ts'
import { schemaName } from '../../db/migrate-to-latest.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Submission } from '../../db/tables/submission-tables.ts'
import type { Deps } from '../deps.ts'
import { readPayload } from '../push/sending/kept-body.ts'
import { writeBody } from '../push/sending/payload.ts'

/** Why a row would be sent. */
type WhySent =
  | 'new'
  | 'changed'
  | 'changed since it was rejected'
  | 'its fate was unknown'
  | 'its request was refused as a whole'
  | 'retried'
  | 'sent again by policy'
  | 'rejected with a row that has changed'
  | 'sent again, for the answer was lost'
  | 'changed back to what may have been overwritten'
  | 'there again after it was gone'
  | 'its hotel is another company now'

type PlannedStream = { stream: string; why: WhySent; rows: number }

export type PlannedRequest = {
  submission_id: number
  kind: string
  partition: string
  rows: number
  streams: PlannedStream[]
}

/**
 * Remembers which rows are rejected as they are, and which of these people want sent again, before the beginning of the
 * run forgets it. What goes out of the others does so by a policy, or because a row that was rejected with it has
 * changed. A row that changed and was not rejected goes out for that, though what was accepted of it is sent again too.
 */
export async function rememberRejected(db: Database): Promise<void> {
  await sql`
    create temp table planned_rejected as
    select row_id, retry_action is not null as retried from acceptance
    where (refused_hash = wanted_hash and accepted_hash is distinct from wanted_hash)
      or (retry_action is not null
        and (accepted_hash is null or accepted_hash = wanted_hash
          or exists (select from action where action.action_id = retry_action and action.verb = 'retry')))`.execute(db)
}

/** Why a row is sent, of the tables submission and row, and of what was rejected before as `rejected`. */
const whySent = sql<WhySent>`
  case when submission.payload_bytes is not null then 'sent again, for the answer was lost'
       when rejected.retried then 'retried'
       when rejected.row_id is not null and row.refused_hash = row.desired_hash
         then 'rejected with a row that has changed'
       when rejected.row_id is not null then 'sent again by policy'
       when row.refused_hash is not null then 'changed since it was rejected'
       when row.outcome = 'unknown' then 'its fate was unknown'
       when row.outcome = 'rejected' then 'its request was refused as a whole'
       when row.accepted_hash is not null then 'changed'
       -- What was accepted of a row is forgotten by these, with the outcome.
       when row.outcome_code = 'row_reverted' then 'changed back to what may have been overwritten'
       when row.outcome_code = 'row_returned' then 'there again after it was gone'
       when row.outcome_code = 'mapping_moved' then 'its hotel is another company now'
       -- Of one that changed it bears the date of the change (releaseResends).
       when row.outcome_code = 'sent_again' and row.changed_at >= row.outcome_at then 'changed'
       when row.outcome_code in ('sent_again', 'tried_again') then 'retried'
       else 'new' end`

/** The requests that are planned in a shadow, with what they carry and why. */
export async function plannedRequests(db: Database, runId: number): Promise<PlannedRequest[]> {
  const { rows } = await sql<PlannedRequest>`
    with carried as (
      select submission_id, row.stream, count(*) as rows,
             ${whySent} as why
      from submission
      join submission_row using (submission_id)
      join ledger row using (row_id)
      left join planned_rejected rejected using (row_id)
      where submission.run_id = ${runId} and submission.state = 'planned'
      group by 1, 2, 4
    )
    select submission_id, kind, partition, row_count as rows, streams
    from submission
    join (
      select submission_id, jsonb_agg(jsonb_build_object('stream', stream, 'why', why, 'rows', rows)
                                      order by stream, why) as streams
      from carried group by submission_id
    ) told using (submission_id)
    order by submission_id`.execute(db)
  return rows
}

export type PlannedRow = {
  stream: string
  partner_id: string
  row_key: string
  why: WhySent
  /** What the service has accepted; null for a row that is new, or where it is not known any more: `why` tells. */
  from: Record<string, unknown> | null
  to: Record<string, unknown>
}

/** Rows that are planned in a shadow, with what was accepted of them so far, as the real tables know it. */
export async function plannedRows(db: Database, runId: number, limit: number): Promise<PlannedRow[]> {
  const { rows } = await sql<PlannedRow>`
    select row.stream, row.partner_id, row.row_key, row.content as to, ${whySent} as why,
           case when not known.pending then known.content else past.content_before end as from
    from submission
    join submission_row using (submission_id)
    join ledger row using (row_id)
    left join planned_rejected rejected using (row_id)
    left join ${sql.id(schemaName, 'ledger')} known on known.row_id = row.row_id
    left join lateral (
      select content_before from ${sql.id(schemaName, 'row_change')} change
      where change.row_id = known.row_id and change.hash_before = known.accepted_hash
      order by changed_at desc
      limit 1
    ) past on true
    where submission.run_id = ${runId} and submission.state = 'planned'
    order by row.accepted_hash is null, row.stream <> 'properties', row.stream, row.partner_id, row.row_id
    limit ${limit}`.execute(db)
  return rows
}

/** Supposes that the service takes everything that is planned, so that what waits for it can be planned. */
export async function supposeAccepted(trx: Transaction<Schema>, runId: number): Promise<void> {
  await sql`
    with released as (
      delete from held_property held using submission
      where submission.submission_id = held.submission_id and submission.run_id = ${runId}
        and submission.state = 'planned'
      returning submission.submission_id, submission.kind, held.partner_id, held.more
    ),
    ended as (
      insert into ended_submission (run_id, kind, partner_ids, unsettled_ids)
      select ${runId}, kind, array_agg(distinct partner_id),
        coalesce(array_agg(distinct partner_id) filter (where more), '{}')
      from released group by kind
    )
    update acceptance set accepted_hash = wanted_hash
    from submission_row carried
    where carried.submission_id in (select submission_id from released) and acceptance.row_id = carried.row_id`.execute(
    trx,
  )
  await sql`update submission set state = 'settled' where run_id = ${runId} and state = 'planned'`.execute(trx)
}

export type PlannedBody = { submission_id: number; kind: string; body: string }

/**
 * The bodies of a wave's first requests, of kinds that were not shown before; at most `most` of each kind. A body is
 * written whole, so it is written only for those.
 */
export async function plannedBodies(
  deps: Deps,
  requests: readonly PlannedRequest[],
  before: readonly PlannedBody[],
  most: number,
): Promise<PlannedBody[]> {
  const bodies: PlannedBody[] = []
  for (const { submission_id, kind } of requests) {
    const shown = [...before, ...bodies].filter((body) => body.kind === kind).length
    if (shown >= most) continue
    const submission = await deps.db
      .selectFrom('submission')
      .selectAll()
      .where('submission_id', '=', submission_id)
      .executeTakeFirstOrThrow()
    const body = await bodyOf(deps, submission)
    bodies.push({ submission_id, kind, body })
  }
  return bodies
}

async function bodyOf(deps: Deps, submission: Submission): Promise<string> {
  if (submission.payload_bytes !== null) return await text(readPayload(deps.db, submission.submission_id))
  return await deps.db.transaction().execute(async (trx) => {
    const pieces: string[] = []
    for await (const piece of writeBody(deps, trx, submission)) pieces.push(piece)
    return pieces.join('')
  })
}
