import { sql } from 'kysely'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import { statusCounts } from '../../db/runs/listed-rows.ts'
import { oldestUnaccepted } from '../../db/runs/oldest-unaccepted.ts'
import { lastStepTimes } from '../../db/runs/run-timeline.ts'
import { deniedKeyInUse, skewInUse } from '../../db/service-key/key-in-use.ts'
import { unfinishedStates } from '../../pipeline/push/submission-state.ts'

/** The states of rows that are counted, as `nightferry status` names them. */
export const rowStates = [
  'accepted',
  'pending',
  'invalid',
  'parked',
  'rejected',
  'unknown',
  'in_flight',
  'held',
  'gone',
] as const

type RunCount = { job: string; verdict: string; runs: number; started_at: Date | null; finished_at: Date | null }
type Counts = { pages_waiting: number; notifications_pending: number; runs_held: number }

export type Measured = Counts & {
  runs: RunCount[]
  streams: Awaited<ReturnType<typeof statusCounts>>
  requests: { kind: string; state: string; requests: number }[]
  looks: { queue: string; state: string; looks: number }[]
  steps: Awaited<ReturnType<typeof lastStepTimes>>
  /** What the requests of the newest run that sent any came to. */
  sent: { kind: string; repeats: number; bytes: number }[]
  oldest_unaccepted: Date | null
  key_refused: boolean
  skew_seconds: number | null
}

/** What the database says of runs, rows and requests. Each query counts by an index, or over what is unfinished. */
export async function measure(db: Database, config: Config): Promise<Measured> {
  const runs = await sql<RunCount>`
    select job, verdict, sum(runs)::bigint as runs, max(started_at) as started_at, max(finished_at) as finished_at
    from (
      select job, coalesce(verdict, state) as verdict, count(*) as runs, max(started_at) as started_at,
             max(finished_at) as finished_at
      from run group by 1, 2
      -- What housekeeping has removed is counted on, or the counter would fall.
      union all select job, verdict, runs, null, null from run_tally
    ) told group by 1, 2`.execute(db)
  const requests = await sql<Measured['requests'][number]>`
    select kind, state, count(*) as requests from submission
    where state = any(${unfinishedStates}) group by 1, 2`.execute(db)
  const looks = await sql<Measured['looks'][number]>`
    select name as queue, state::text as state, count(*) as looks from nightferry_queue.job
    where state < 'completed' and name like 'look-at-%' group by 1, 2`.execute(db)
  const counts = await sql<Counts>`
    select (select count(*) from search_page where state = 'listed') as pages_waiting,
           (select count(*) from notification where told_at is null and next_at is not null) as notifications_pending,
           (select count(distinct run_id) from guard_plan where state = 'waiting') as runs_held`.execute(db)
  const sent = await sql<Measured['sent'][number]>`
    select kind, sum(repeats)::float8 as repeats, coalesce(sum(payload_bytes), 0)::float8 as bytes
    from submission where run_id = (select max(run_id) from submission) group by kind`.execute(db)
  const skew = await skewInUse(db)
  return {
    runs: runs.rows,
    streams: await statusCounts(db, requirementsOf(config)),
    requests: requests.rows,
    looks: looks.rows,
    ...(counts.rows[0] ?? { pages_waiting: 0, notifications_pending: 0, runs_held: 0 }),
    steps: await lastStepTimes(db),
    sent: sent.rows,
    oldest_unaccepted: await oldestUnaccepted(db),
    key_refused: (await deniedKeyInUse(db)) !== null,
    skew_seconds: skew === null ? null : skew.lowMs / 1000,
  }
}
