import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * Counts, per stream of a run, the rows that were pending once its extraction was done. Rows that the run settled
 * before it came so far, or holds, in submissions taken over from an earlier one, count as pending too.
 */
export async function countPending(db: Database, runId: number): Promise<void> {
  await sql`
    with pending as materialized (
      select stream, count(*) as rows
      from ledger
      where gone_at is null and pending
      group by stream
    ),
    settled as materialized (
      select ledger.stream, count(*) as rows
      -- By what the run carries, which is little as yet, and not by the ledger.
      from (
        select distinct row_id from submission join submission_row using (submission_id)
        where submission.run_id = ${runId}
        offset 0
      ) carried
      join ledger using (row_id)
      where gone_at is null and not pending
      group by ledger.stream
    )
    update run_stream
    set pending = coalesce((select rows from pending where pending.stream = run_stream.stream), 0)
      + coalesce((select rows from settled where settled.stream = run_stream.stream), 0)
    where run_id = ${runId} and pending is null`.execute(db)
}
