import type { Database } from '../database.ts'
import { differencesOf } from '../differences/list-differences.ts'
import type { Requires } from '../ledger/requirement.ts'
import type { ResendPolicy } from '../ledger/resend-policy.ts'
import type { InputDifference } from '../tables/input-difference.ts'
import { type TracedRow, traceRows } from './trace-rows.ts'
import { type TracedAction, type TracedCompany, traceActions, traceCompany } from './trace-service.ts'
import { type TracedStream, traceStreams } from './trace-streams.ts'
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
}

/** Follows one hotel from the partner's database to the calculators that came back, as of one moment. Null: unknown. */
export async function tracePartner(
  db: Database,
  partnerId: string,
  requires: Requires,
  policies: readonly ResendPolicy[],
): Promise<PartnerTrace | null> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const streams = await traceStreams(trx, partnerId)
      if (streams.length === 0) return null
      return {
        partner_id: partnerId,
        streams,
        company: await traceCompany(trx, partnerId),
        rows: await traceRows(trx, partnerId, requires, policies),
        submissions: await traceSubmissions(trx, partnerId),
        differences: await differencesOf(trx, partnerId),
        actions: await traceActions(trx, partnerId),
      }
    })
}
