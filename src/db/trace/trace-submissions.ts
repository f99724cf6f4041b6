import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { type Listed, listed } from '../listed.ts'
import type { SubmissionState } from '../tables/submission.ts'

export type TracedSubmission = {
  submission_id: number
  run_id: number
  kind: string
  state: SubmissionState
  correlation_id: string | null
  task_status: string | null
  /** Of this hotel; the request may have carried others. */
  rows: number
  confirmed: number
  inferred: number
  rejected: number
  unknown: number
  attempts: number
  /** POSTs made again because an answer was lost. */
  repeats: number
  /** What the service said that matches no row of the request, no matter whose: how much, and what names this hotel. */
  unmatched: number
  unmatched_here: Readonly<Record<string, string | number>>[]
  /** The request that this one is a part of. */
  parent_id: number | null
  error_code: string | null
  error_message: string | null
  planned_at: Date
  attempted_at: Date | null
  accepted_at: Date | null
  terminal_at: Date | null
  settled_at: Date | null
  /** Submissions of the same run by which what the request's rows require was accepted, for this hotel. */
  released_by: number[]
}

/**
 * The submissions that carried a row of one hotel, in the order in which they were planned.
 * @param limit null: all; else the newest.
 */
export async function traceSubmissions(
  db: Database,
  partnerId: string,
  limit: number | null = null,
): Promise<Listed<TracedSubmission>> {
  const { rows } = await sql<TracedSubmission & { carrier: number; found: number }>`
    select count(*) over () as found, submission_id, run_id, kind, state, correlation_id, task_status, carried.*,
      attempts, repeats,
           error_code, error_message, planned_at, attempted_at, submission.accepted_at, terminal_at, settled_at,
           -- Of those that released rows of the request, the ones that carried a row of this hotel.
           coalesce((
             select jsonb_agg(release.released_by order by release.released_by) from submission_release release
             where release.submission_id = submission.submission_id and exists (
               select from submission_row sent join source_row using (row_id)
               where sent.submission_id = release.released_by and source_row.partner_id = ${partnerId})), '[]')
                 as released_by,
           unmatched_count as unmatched,
           coalesce(jsonb_path_query_array(unmatched, '$[*] ? (@.partner_id == $id || @.company_id == $company)',
             jsonb_build_object('id', ${partnerId}::text, 'company',
               (select company_id::text from mapping where partner_id = ${partnerId}))), '[]') as unmatched_here,
           parent_id
    from (
      select carrier, count(*) as rows,
             count(*) filter (where outcome = 'confirmed') as confirmed,
             count(*) filter (where outcome = 'inferred') as inferred,
             count(*) filter (where outcome = 'rejected') as rejected,
             count(*) filter (where outcome = 'unknown') as unknown
      from (
        select submission_id as carrier, coalesce(sent.outcome, rest_outcome) as outcome
        from source_row join submission_row sent using (row_id) join submission using (submission_id)
        where partner_id = ${partnerId}
      ) told
      group by carrier
    ) carried
    join submission on submission_id = carrier
    order by submission_id desc
    limit ${limit}`.execute(db)
  return listed(rows.toReversed().map(({ carrier: _, ...row }) => row))
}
