import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { unfinishedStates } from '../tables/submission-tables.ts'

/** What requests of a run under way wait for: the service does not answer, or not as it should. */
export type RequestTrouble = {
  run_id: number
  kind: string
  /** `answers_lost`: they were sent, and nobody knows whether they arrived. `calls_fail`: calls about them fail. */
  what: 'answers_lost' | 'calls_fail'
  /** How many requests of the kind, and how many rows they carry; searches carry none. */
  requests: number
  rows: number
  /** Of them the one that has waited longest: since when, and what was last said. */
  submission_id: number
  since: Date
  code: string | null
  reason: string | null
}

/** One of a kind and a job: there are never so many. */
const mostTroubles = 100

/**
 * The requests of runs under way that have had trouble for a while, by run and kind. What is overdue is not among them:
 * no run waits for it.
 * @param forMs trouble that is younger passes by itself, as a rule.
 */
export async function requestTroubles(db: Database, now: Date, forMs: number): Promise<RequestTrouble[]> {
  const { rows } = await sql<RequestTrouble>`
    with troubled as (
      select run_id, kind, submission_id, row_count, error_code as code, error_message as reason,
             -- While calls about it fail nothing is sent again, and the run goes by when these began to fail.
             case when failures > 0 or answers_lost_since is null then 'calls_fail' else 'answers_lost' end as what,
             coalesce(case when failures > 0 then failing_since end, answers_lost_since) as since
      from submission join run using (run_id)
      where run.state = 'running' and submission.state = any(${unfinishedStates}) and overdue_since is null
    )
    select distinct on (run_id, kind, what) run_id, kind, what, count(*) over alike as requests,
           (sum(row_count) over alike)::float8 as rows, submission_id, since, code, reason
    from troubled
    where since <= ${new Date(now.getTime() - forMs)}
    window alike as (partition by run_id, kind, what)
    order by run_id, kind, what, since, submission_id
    limit ${mostTroubles}`.execute(db)
  return rows
}
