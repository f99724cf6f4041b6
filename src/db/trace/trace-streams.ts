import { sql } from 'kysely'
import type { Database } from '../database.ts'

export type TracedStream = {
  stream: string
  /** Those that are there. */
  rows: number
  accepted: number
  /** Those that the partner has no longer. */
  gone: number
  first_seen_at: Date
  /** When a run last read something new of it. */
  changed_at: Date
  /** The last reading of the stream, whatever it brought. */
  read_at: Date | null
  read_by_run: number | null
}

/** What the partner's database has delivered of one hotel, stream by stream, and when it was last asked. */
export async function traceStreams(db: Database, partnerId: string): Promise<TracedStream[]> {
  const { rows } = await sql<TracedStream>`
    select had.*, last.extracted_at as read_at, last.run_id as read_by_run
    from (
      select stream, count(*) filter (where gone_at is null) as rows,
             count(*) filter (where gone_at is null and not pending) as accepted,
             count(gone_at) as gone,
             min(first_seen_at) as first_seen_at, max(changed_at) as changed_at
      from ledger
      where partner_id = ${partnerId}
      group by stream
    ) had
    left join lateral (
      select run_id, extracted_at from run_stream
      where run_stream.stream = had.stream
      order by run_id desc
      limit 1
    ) last on true
    order by had.stream <> 'properties', had.stream`.execute(db)
  return rows
}
