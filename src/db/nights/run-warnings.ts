import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** Something that a run warned of: the event as the log names it, what it is about, and what was said. */
type RunWarning = { at: Date; event: string; about: string; words: string | null }

/** What a run warned of while it worked, the newest first. It stands in the rows that the log's lines are about. */
export async function runWarnings(db: Database, runId: number, limit: number): Promise<RunWarning[]> {
  const { rows } = await sql<RunWarning>`
    with request as (
      select *, format('request %s (%s)', submission_id, kind) as about,
             coalesce(settled_at, polled_at, attempted_at, planned_at) as at
      from submission where run_id = ${runId}
    )
    select at, event, about, words from (
      select at, 'submission_' || state as event, about, nullif(concat_ws(': ', error_code, error_message), '') as words
      from request where state in ('refused', 'lost', 'abandoned', 'uncertain')
      union all
      select failing_since, 'call_failed', about, format('%s times; last: %s', failures,
        concat_ws(': ', error_code, error_message))
      from request where failures > 0 and failing_since is not null
        and state not in ('refused', 'lost', 'abandoned', 'uncertain')
      union all
      select at, 'answer_lost', about, format('sent again %s times, because an answer was lost', repeats)
      from request where repeats > 0
      union all
      select overdue_since, 'task_overdue', about, 'the run ended without it' from request
        where overdue_since is not null
      union all
      select at, 'task_status_unknown', about, unknown_status from request where unknown_status is not null
      union all
      select coalesce(loaded_at, at), case when page.state = 'failed' then 'page_failed'
        else 'page_loaded_with_care' end,
             format('page %s of %s', ordinal + 1, about),
             nullif(concat_ws(': ', page.error_code, page.error_message, care), '')
      from request join search_page page using (submission_id)
      where page.state = 'failed' or page.failures > 0 or care is not null
      union all
      select extracted_at, 'rows_without_cursor', stream, format('%s rows have no cursor', null_cursor)
      from run_stream where run_id = ${runId} and null_cursor > 0
      union all
      select extracted_at, 'stream_read_whole', stream, coalesce(whole_detail, whole)
      from run_stream where run_id = ${runId} and whole in ('server', 'newest_row')
    ) warned
    order by at desc nulls last, event, about limit ${limit}`.execute(db)
  return rows
}
