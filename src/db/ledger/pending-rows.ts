import { sql } from 'kysely'
import type { StreamName } from '../../config/schema.ts'
import type { Database } from '../database.ts'

export type PendingRow = {
  row_id: number
  stream: StreamName
  partner_id: string
  content: Record<string, unknown>
  /** Of the content, in hexadecimal. */
  hash: string
}

/** Where a batch of pending rows ended. */
export type PendingPlace = { stream: string; partner_id: string; row_id: number }

/** Before all pending rows. */
export const firstPlace: PendingPlace = { stream: '', partner_id: '', row_id: 0 }

/**
 * Pending rows that a run has not judged yet, also those in flight, which may have changed since they were sent: a batch
 * at a time, in the order of the index of what is pending. Rows that came or changed in this run were judged on their way
 * into the ledger, unless they were folded; those that contradict themselves are invalid whatever the reference data say.
 */
export async function pendingRows(
  db: Database,
  runId: number,
  after: PendingPlace,
  limit: number,
): Promise<PendingRow[]> {
  const { rows } = await sql<PendingRow>`
    select row_id, stream, partner_id, content, encode(desired_hash, 'hex') as hash
    from source_row
    where (stream, partner_id, row_id) > (${after.stream}, ${after.partner_id}, ${after.row_id})
      and accepted_hash is distinct from desired_hash
      and gone_at is null
      and contradiction is null
      and not (checked_hash is not distinct from desired_hash
               and changed_at >= (select started_at from run where run_id = ${runId}))
    order by stream, partner_id, row_id
    limit ${limit}`.execute(db)
  return rows
}

/** Stores what preflight found, for rows whose content is still what was judged. */
export async function storeChecks(
  db: Database,
  checks: readonly { row_id: number; hash: string; invalid_reason: string | null }[],
): Promise<void> {
  await sql`
    update source_row
    set invalid_reason = checked.invalid_reason, checked_hash = desired_hash
    from jsonb_to_recordset(${JSON.stringify(checks)}::jsonb) as checked(row_id bigint, hash text, invalid_reason text)
    where source_row.row_id = checked.row_id
      and source_row.desired_hash = decode(checked.hash, 'hex')
      and (source_row.checked_hash is distinct from source_row.desired_hash
           or source_row.invalid_reason is distinct from checked.invalid_reason)`.execute(db)
}

/**
 * Counts, per stream of a run, the rows that were pending once its extraction was done. Rows that the run settled
 * before it came so far, or holds, in submissions taken over from an earlier one, count as pending too.
 */
export async function countPending(db: Database, runId: number): Promise<void> {
  await sql`
    with pending as (
      select stream, count(*) as rows
      from source_row
      where gone_at is null and accepted_hash is distinct from desired_hash
      group by stream
    ),
    settled as (
      select source_row.stream, count(distinct row_id) as rows
      from submission
      join submission_row using (submission_id)
      join source_row using (row_id)
      where submission.run_id = ${runId} and source_row.gone_at is null
        and source_row.accepted_hash is not distinct from source_row.desired_hash
      group by source_row.stream
    )
    update run_stream
    set pending = coalesce((select rows from pending where pending.stream = run_stream.stream), 0)
      + coalesce((select rows from settled where settled.stream = run_stream.stream), 0)
    where run_id = ${runId} and pending is null`.execute(db)
}
