import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Run } from '../tables/run-tables.ts'

export type RunProgress = Run & {
  rows_read: number
  rows_planned: number
  rows_settled: number
  requests: number
  requests_settled: number
  pages: number
  pages_loaded: number
}

/** Where a run stands, in one query. */
export async function runProgress(db: Database, runId: number): Promise<RunProgress> {
  const { rows } = await sql<RunProgress>`
    select run.*,
           (select coalesce(sum(read), 0)::bigint from run_stream where run_stream.run_id = run.run_id) as rows_read,
           coalesce(sum(row_count), 0)::bigint as rows_planned,
           coalesce(sum(row_count) filter (where submission.state in ('settled', 'refused', 'lost', 'abandoned')),
             0)::bigint as rows_settled,
           count(submission_id) as requests,
           count(submission_id) filter (where submission.state in ('settled', 'refused', 'lost', 'abandoned'))
             as requests_settled,
           coalesce(sum(pages), 0)::bigint as pages,
           coalesce(sum(pages_loaded), 0)::bigint as pages_loaded
    from run
    left join submission using (run_id)
    left join lateral (
      select count(*) as pages, count(*) filter (where search_page.state <> 'listed') as pages_loaded
      from search_page where search_page.submission_id = submission.submission_id
    ) loaded on true
    where run_id = ${runId}
    group by run.run_id`.execute(db)
  const progress = rows[0]
  if (progress === undefined) throw new Error(`run ${runId} does not exist`)
  return progress
}
