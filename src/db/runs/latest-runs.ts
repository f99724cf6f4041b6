import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Run } from '../tables/run-tables.ts'

type LatestRun = Pick<Run, 'run_id' | 'job' | 'trigger' | 'state' | 'step' | 'verdict' | 'started_at' | 'finished_at'>

/** The newest run of each job, skipped ones aside. */
export async function latestRuns(db: Database): Promise<LatestRun[]> {
  const { rows } = await sql<LatestRun>`
    select distinct on (job) run_id, job, trigger, state, step, verdict, started_at, finished_at
    from run where state <> 'skipped'
    order by job, run_id desc`.execute(db)
  return rows
}
