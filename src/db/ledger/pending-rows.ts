import { sql } from 'kysely'
import type { Database } from '../database.ts'

export type PendingRow = {
  row_id: number
  stream: string
  partner_id: string
  content: Record<string, unknown>
  /** Of the content, in hexadecimal. */
  hash: string
}

/**
 * Pending rows, also those in flight, which may have changed since they were sent: a batch at a time in the order of
 * their ids. Begin with 0 and go on from the last id.
 */
export async function pendingRows(db: Database, afterRowId: number, limit: number): Promise<PendingRow[]> {
  const { rows } = await sql<PendingRow>`
    select row_id, stream, partner_id, content, encode(desired_hash, 'hex') as hash
    from source_row
    where row_id > ${afterRowId}
      and accepted_hash is distinct from desired_hash
      and gone_at is null
    order by row_id
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
    update run_stream
    set pending =
      (select count(*) from source_row
       where source_row.stream = run_stream.stream and source_row.gone_at is null
         and source_row.accepted_hash is distinct from source_row.desired_hash)
      + (select count(distinct row_id)
         from submission
         join submission_row using (submission_id)
         join source_row using (row_id)
         where submission.run_id = ${runId} and source_row.stream = run_stream.stream and source_row.gone_at is null
           and source_row.accepted_hash is not distinct from source_row.desired_hash)
    where run_id = ${runId} and pending is null`.execute(db)
}
