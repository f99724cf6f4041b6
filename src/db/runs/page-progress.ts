import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { SearchPage } from '../tables/search-tables.ts'

/** Pages that are named one by one; the rest is counted. */
const named = 10

export type PageProgress = {
  pages: number
  loaded: number
  failed: number
  /** Of these, pages of the searches in `pull.searches`. */
  document_pages: number
  bytes: number
  /** Of the calculator search; of the other searches nothing is counted but pages and bytes. */
  companies: number
  /** Companies whose bytes were those of the last time. */
  unchanged: number
  /** Pages that were loaded with care. */
  careful: number
  /**
   * Failed pages first, then those that are tried again, then those that needed care. `search` is the name of one of
   * `pull.searches`, null of the calculator search; `page` counts from 1 within it.
   */
  remarkable: ({ search: string | null; page: number } & Pick<
    SearchPage,
    'state' | 'failures' | 'error_code' | 'error_message' | 'care'
  >)[]
}

/** How the pages of a run's searches get on, and which of them are worth a look; null while it has none. */
export async function pageProgress(db: Database, runId: number, searchKind: string): Promise<PageProgress | null> {
  const { rows } = await sql<Omit<PageProgress, 'remarkable'>>`
    select count(*) as pages,
           count(*) filter (where search_page.state = 'loaded') as loaded,
           count(*) filter (where search_page.state = 'failed') as failed,
           count(*) filter (where kind <> ${searchKind}) as document_pages,
           coalesce(sum(bytes), 0)::bigint as bytes,
           coalesce(sum(companies) filter (where kind = ${searchKind}), 0)::bigint as companies,
           coalesce(sum(unchanged) filter (where kind = ${searchKind}), 0)::bigint as unchanged,
           count(*) filter (where care is not null) as careful
    from search_page join submission using (submission_id)
    where run_id = ${runId} and submission.state <> 'abandoned'`.execute(db)
  const counted = rows[0]
  if (counted === undefined || counted.pages === 0) return null
  const { rows: remarkable } = await sql<PageProgress['remarkable'][number]>`
    select case when kind <> ${searchKind} then partition end as search, ordinal + 1 as page, search_page.state,
           search_page.failures, search_page.error_code, search_page.error_message, care
    from search_page join submission using (submission_id)
    where run_id = ${runId} and submission.state <> 'abandoned'
      and (search_page.state = 'failed' or (search_page.state = 'listed' and search_page.failures > 0)
        or care is not null)
    order by search_page.state = 'failed' desc, search_page.state = 'listed' desc, submission.submission_id, ordinal
    limit ${named}`.execute(db)
  return { ...counted, remarkable }
}
