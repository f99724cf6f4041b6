import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { NameChangesView } from '../tables/history-tables.ts'
import type { LeftOutProperty } from '../tables/submission-tables.ts'

export type SearchReport = {
  submission_id: number
  correlation_id: string | null
  task_status: string | null
  pages: number
  failed_pages: number
  companies: number
  calculators: number
  values: number
  added: number
  changed: number
  removed: number
  quarantined: number
  /** Companies whose bytes were those of the last time. */
  unchanged: number
  bytes: number
  /** Pages that were loaded with care, and why one of them was. */
  careful_pages: number
  first_care: string | null
  /** Companies and calculators that the complete search no longer returned. */
  gone_companies: number
  gone_calculators: number
  /** Why absence proves nothing this time, or null. */
  withheld: string | null
  /** Of the pages that could not be loaded: which is the first, by its place in the search, with its code and why. */
  first_error: string | null
  /** Custom properties that it asked for and its pages did not name. */
  left_out_properties: LeftOutProperty[]
}

/** The searches of a run with what their pages brought. */
export async function searchReports(db: Database, runId: number, searchKind: string): Promise<SearchReport[]> {
  const { rows } = await sql<SearchReport>`
    select submission.submission_id, correlation_id, task_status,
           count(page_id) as pages,
           count(page_id) filter (where search_page.state = 'failed') as failed_pages,
           coalesce(sum(companies), 0)::bigint as companies,
           coalesce(sum(calculators), 0)::bigint as calculators,
           coalesce(sum(values), 0)::bigint as values,
           coalesce(sum(added), 0)::bigint as added,
           coalesce(sum(changed), 0)::bigint as changed,
           coalesce(sum(removed), 0)::bigint + coalesce((search_result ->> 'values')::bigint, 0) as removed,
           coalesce(sum(quarantined), 0)::bigint as quarantined,
           coalesce(sum(unchanged), 0)::bigint as unchanged,
           coalesce(sum(bytes), 0)::bigint as bytes,
           count(care) as careful_pages,
           min(care) as first_care,
           coalesce((search_result ->> 'companies')::bigint, 0) as gone_companies,
           coalesce((search_result ->> 'calculators')::bigint, 0) as gone_calculators,
           search_result ->> 'reason' as withheld,
           coalesce(search_result -> 'left_out_properties', '[]') as left_out_properties,
           (array_agg(
             format('page %s: %s: %s', ordinal + 1, search_page.error_code, search_page.error_message) order by ordinal
           ) filter (where search_page.state = 'failed'))[1] as first_error
    from submission
    left join search_page using (submission_id)
    where run_id = ${runId} and kind = ${searchKind} and submission.state <> 'abandoned'
    group by submission.submission_id
    order by submission.submission_id`.execute(db)
  return rows
}

export type NameChange = Pick<NameChangesView, 'kind' | 'id' | 'before' | 'after'>

/**
 * Variables and custom properties that the run's pages named otherwise than before: what it comes to, by id, cut short.
 */
export async function nameChanges(db: Database, runId: number): Promise<NameChange[]> {
  const { rows } = await sql<NameChange>`
    select kind, id, left(before, 200) as before, left(after, 200) as after from (
      select distinct kind, id,
        first_value(before) over ordered as before, last_value(after) over ordered as after
      from name_changes
      where run_id = ${runId}
      window ordered as (partition by kind, id order by change_id rows between unbounded preceding
        and unbounded following)
    ) named
    where before <> after
    order by kind, id
    limit 1000`.execute(db)
  return rows
}
