import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { codeTold, outcomeTold } from '../ledger/settle-outcomes.ts'
import type { OutcomeName } from '../tables/row-tables.ts'
import { type SubmissionReport, submissionReports } from './report-rows.ts'

/** A request, and the run that it is of now. */
type OneSubmission = SubmissionReport & { run_id: number }

/** Undefined: there is none of that number. */
export async function submissionOf(db: Database, submissionId: number): Promise<OneSubmission | undefined> {
  const found = await db
    .selectFrom('submission')
    .select('run_id')
    .where('submission_id', '=', submissionId)
    .executeTakeFirst()
  if (found === undefined) return undefined
  const [report] = await submissionReports(db, found.run_id, submissionId)
  return report === undefined ? undefined : { ...found, ...report }
}

/** A row as a request carried it, and what became of it with that. */
export type CarriedRow = {
  partner_id: string
  stream: string
  row_key: string
  /** Null while the request has not told. */
  outcome: OutcomeName | null
  code: string | null
  reason: string | null
  /** The hash of the content that was sent, in hexadecimal digits; null where it was not noted. */
  sent_hash: string | null
  /** Whether the row says the same now; null where nothing tells. */
  unchanged: boolean | null
}

/**
 * The rows that a request carried, in the order of its body. Of requests that ended long ago housekeeping keeps those
 * alone of which nothing was told later.
 * @param partnerId of this hotel alone; null: of all.
 */
export async function carriedRows(
  db: Database,
  submissionId: number,
  partnerId: string | null,
  limit: number,
): Promise<CarriedRow[]> {
  const { rows } = await sql<CarriedRow>`
    select partner_id, stream, row_key, ${outcomeTold('carried', 'submission')} as outcome,
           ${codeTold('carried', 'submission')} as code,
           case when carried.outcome is null then rest_reason else carried.reason end as reason,
           encode(sent_hash, 'hex') as sent_hash, sent_hash = desired_hash as unchanged
    from submission_row carried join submission using (submission_id) join source_row using (row_id)
    where submission_id = ${submissionId} and (${partnerId}::text is null or partner_id = ${partnerId})
    order by partner_id, row_key
    limit ${limit}`.execute(db)
  return rows
}

/** Of how many rows that a request carried it is still known. */
export async function countCarried(db: Database, submissionId: number): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    select count(*) as rows from submission_row where submission_id = ${submissionId}`.execute(db)
  return rows[0]?.rows ?? 0
}
