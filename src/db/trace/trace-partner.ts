import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { differencesOf } from '../differences/list-differences.ts'
import type { Requires } from '../ledger/requirement.ts'
import type { ResendPolicy } from '../ledger/resend-policy.ts'
import type { InputDifference } from '../tables/difference-tables.ts'
import { type TracedRow, traceRows } from './trace-rows.ts'
import { type TracedAction, type TracedCompany, traceActions, traceCompany } from './trace-service.ts'
import { type TracedSubmission, traceSubmissions } from './trace-submissions.ts'

/** Everything that is known of one hotel. */
export type PartnerTrace = {
  partner_id: string
  streams: TracedStream[]
  company: TracedCompany | null
  rows: TracedRow[]
  submissions: TracedSubmission[]
  /** What came back of its inputs otherwise than it was sent, as the last comparison found it. */
  differences: InputDifference[]
  actions: TracedAction[]
  /** How many more there are of each list than it holds. */
  more: { rows: number; submissions: number; differences: number; actions: number }
}

/**
 * Follows one hotel from the partner's database to the calculators that came back, as of one moment. Null: unknown.
 * @param limit of each list; null: all. Of rows those come first that are not accepted, of the others the newest.
 */
export async function tracePartner(
  db: Database,
  partnerId: string,
  requires: Requires,
  policies: readonly ResendPolicy[],
  limit: number | null = null,
): Promise<PartnerTrace | null> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const streams = await traceStreams(trx, partnerId)
      if (streams.length === 0) return null
      const rows = await traceRows(trx, partnerId, requires, policies, limit)
      const submissions = await traceSubmissions(trx, partnerId, limit)
      const differences = await differencesOf(trx, partnerId, limit)
      const actions = await traceActions(trx, partnerId, limit)
      return {
        partner_id: partnerId,
        streams,
        company: await traceCompany(trx, partnerId),
        rows,
        submissions: submissions.rows,
        differences: differences.rows,
        actions: actions.rows,
        more: {
          rows: streams.reduce((sum, one) => sum + one.rows + one.gone, 0) - rows.length,
          submissions: submissions.more,
          differences: differences.more,
          actions: actions.more,
        },
      }
    })
}

type TracedStream = {
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
async function traceStreams(db: Database, partnerId: string): Promise<TracedStream[]> {
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
