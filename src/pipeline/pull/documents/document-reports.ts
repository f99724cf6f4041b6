import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { isOfDestination } from '../../../db/runs/newest-runs.ts'
import type { SubmissionState } from '../../../db/tables/submission-tables.ts'

export type DocumentReport = {
  /** The name of the search. */
  search: string
  kind: string
  submission_id: number
  correlation_id: string | null
  state: SubmissionState
  task_status: string | null
  error_code: string | null
  error_message: string | null
  pages: number
  failed_pages: number
  /** Elements on the loaded pages that could be stored; of these new, different and as before. */
  documents: number
  added: number
  changed: number
  unchanged: number
  quarantined: number
  /** Documents that the complete search no longer returned. */
  gone: number
  /** Why absence proves nothing this time, or null. */
  withheld: string | null
  /** The lists of which it proves nothing; none where it is so of all. */
  withheld_lists: string[]
  /** Of the pages that could not be loaded: which is the first, by its place in the search, with its code and why. */
  first_error: string | null
}

/** The searches for documents of a run, with what their pages brought. */
export async function documentReports(
  db: Database,
  runId: number,
  documentKinds: readonly string[],
): Promise<DocumentReport[]> {
  const { rows } = await sql<DocumentReport>`
    select partition as search, kind, submission.submission_id, correlation_id, submission.state, task_status,
           submission.error_code, submission.error_message,
           count(page_id) as pages,
           count(page_id) filter (where search_page.state = 'failed') as failed_pages,
           coalesce(sum(documents), 0)::bigint as documents,
           coalesce(sum(added), 0)::bigint as added,
           coalesce(sum(changed), 0)::bigint as changed,
           coalesce(sum(unchanged), 0)::bigint as unchanged,
           coalesce(sum(quarantined), 0)::bigint as quarantined,
           coalesce((search_result ->> 'documents')::bigint, 0) as gone,
           search_result ->> 'reason' as withheld,
           coalesce(search_result -> 'lists', '[]') as withheld_lists,
           (array_agg(
             format('page %s: %s: %s', ordinal + 1, search_page.error_code, search_page.error_message) order by ordinal
           ) filter (where search_page.state = 'failed'))[1] as first_error
    from submission
    left join search_page using (submission_id)
    where run_id = ${runId} and kind = any(${documentKinds}) and submission.state <> 'abandoned'
    group by submission.submission_id
    order by submission.submission_id`.execute(db)
  return rows
}

export type SearchStanding = {
  search: string
  /** Documents that are there, and that a complete search no longer returned. */
  documents: number
  removed: number
  /** When a page of it was loaded last, and when something of it changed last; null: never. */
  loaded_at: Date | null
  changed_at: Date | null
  /** Its newest submission; null while there was none. */
  submission_id: number | null
  state: SubmissionState | null
  task_status: string | null
  error_code: string | null
}

/**
 * Where each search for documents stands: those of the configuration, and those whose documents are kept from before.
 */
export async function searchStandings(
  db: Database,
  configured: readonly string[],
  documentKinds: readonly string[],
): Promise<SearchStanding[]> {
  const { rows } = await sql<SearchStanding>`
    with kept as (
      select search, count(*) filter (where removed_at is null) as documents,
             count(*) filter (where removed_at is not null) as removed, max(changed_at) as changed_at
      from document group by search
    ), newest as (
      select distinct on (partition) partition as search, submission_id, state, task_status, error_code
      from submission where kind = any(${documentKinds}) and state <> 'abandoned' and ${isOfDestination}
      order by partition, submission_id desc
    ), loaded as (
      select partition as search, max(loaded_at) as loaded_at
      from submission join search_page using (submission_id)
      where kind = any(${documentKinds}) and search_page.state = 'loaded' and ${isOfDestination}
      group by partition
    )
    select search, coalesce(documents, 0) as documents, coalesce(removed, 0) as removed, loaded_at, changed_at,
           submission_id, state, task_status, error_code
    from (select unnest(${configured}::text[]) as search union select search from kept) named
    left join kept using (search) left join newest using (search) left join loaded using (search)
    order by search`.execute(db)
  return rows
}
