import { sql, type Transaction } from 'kysely'
import { type Action, listActions } from '../actions/list-actions.ts'
import type { Database } from '../database.ts'
import type { Requires } from '../ledger/requirements.ts'
import type { ResendPolicy } from '../ledger/rows-to-retry.ts'
import { codeTold, outcomeTold } from '../ledger/settle-outcomes.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { OutcomeName } from '../tables/row-tables.ts'
import { type TracedCompany, traceCompany } from './trace-partner.ts'
import { type TracedRow, type TracedSubmission, traceRows, traceSubmissions } from './trace-rows.ts'

/** A row of a hotel as a request carried it, with what was said of it. */
export type SentRow = {
  submission_id: number
  stream: string
  row_key: string
  /** What was sent of it, found by its hash among what the row says and said; null where that is not kept. */
  content: Record<string, unknown> | null
  /** In hexadecimal digits; null where it was not noted. */
  sent_hash: string | null
  /** Null while the request has not told. */
  outcome: OutcomeName | null
  code: string | null
  reason: string | null
}

/** What is known of one hotel, as of one moment. */
export type HotelEvidence = {
  company: TracedCompany | null
  rows: TracedRow[]
  sent: SentRow[]
  /** The requests that carried a row among `sent`. */
  submissions: TracedSubmission[]
  actions: Action[]
}

type Asked = { partnerId: string; year: number | null; requires: Requires; policies: readonly ResendPolicy[] }

/**
 * Gathers what is known of a hotel.
 * @param asked.year rows of another year are left out; those that are of no year stay. Null: all.
 * @param work is given it, with the transaction in which all is as of the same moment.
 */
export async function withEvidence<T>(
  db: Database,
  { partnerId, year, requires, policies }: Asked,
  work: (trx: Transaction<Schema>, evidence: HotelEvidence) => Promise<T>,
): Promise<T> {
  return await db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      const sent = await sentRows(trx, partnerId, year)
      const carriers = new Set(sent.map(({ submission_id }) => submission_id))
      const { rows: submissions } = await traceSubmissions(trx, partnerId)
      const rows = await traceRows(trx, partnerId, requires, policies)
      return await work(trx, {
        company: await traceCompany(trx, partnerId),
        rows: rows.filter(({ content }) => year === null || (content.year ?? String(year)) === String(year)),
        sent,
        submissions: submissions.filter(({ submission_id }) => carriers.has(submission_id)),
        actions: await listActions(trx, { partnerId }, Number.MAX_SAFE_INTEGER),
      })
    })
}

async function sentRows(trx: Transaction<Schema>, partnerId: string, year: number | null): Promise<SentRow[]> {
  const { rows } = await sql<SentRow>`
    select submission_id, stream, row_key, encode(sent_hash, 'hex') as sent_hash,
           case when sent_hash = desired_hash then source_row.content else past.content_before end as content,
           ${outcomeTold('carried', 'submission')} as outcome, ${codeTold('carried', 'submission')} as code,
           case when carried.outcome is null then rest_reason else carried.reason end as reason
    from source_row join submission_row carried using (row_id) join submission using (submission_id)
    left join lateral (
      select content_before from row_change
      where row_change.row_id = source_row.row_id and hash_before = sent_hash
      limit 1
    ) past on true
    where partner_id = ${partnerId}
      and (${year}::int is null or coalesce(source_row.content ->> 'year', ${String(year)}) = ${String(year)})
    order by submission_id, stream, row_key`.execute(trx)
  return rows
}
