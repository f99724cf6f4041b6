import { sql } from 'kysely'
import { requirementsOf } from '../../config/require-settings.ts'
import type { Config } from '../../config/schema.ts'
import type { Database } from '../../db/database.ts'
import { waitingPlans } from '../../db/guard/guard-plan.ts'
import { oldestUnaccepted, statusCounts } from '../../db/ledger/status-counts.ts'
import { hasCarried, isForDestination, isOfDestination, isWhole, searchesBrought } from '../../db/runs/newest-runs.ts'
import { lastStepTimes } from '../../db/runs/run-progress.ts'
import { deniedKeyInUse, skewInUse } from '../../db/service-key/service-key.ts'
import { unfinishedStates } from '../../db/tables/submission-tables.ts'
import type { Deps } from '../../pipeline/deps.ts'
import { leastShare } from '../../pipeline/report/carried.ts'
import { clocksDifferMs } from '../../pipeline/report/standing.ts'
import { documentKindOf, searchKind } from '../../pipeline/streams/kind-names.ts'

type RunCount = { job: string; verdict: string; runs: number; started_at: Date | null; finished_at: Date | null }

type Counts = { pages_waiting: number; notifications_pending: number }

/** What takes as long as rows wait. */
export type Backlog = { streams: Awaited<ReturnType<typeof statusCounts>>; oldest_unaccepted: Date | null }

export async function measureBacklog(db: Database, { config }: Pick<Deps, 'config'>): Promise<Backlog> {
  const requires = requirementsOf(config)
  return { streams: await statusCounts(db, requires), oldest_unaccepted: await oldestUnaccepted(db, requires) }
}

export type Measured = Counts & {
  runs: RunCount[]
  requests: { kind: string; state: string; requests: number }[]
  looks: { queue: string; state: string; looks: number }[]
  steps: Awaited<ReturnType<typeof lastStepTimes>>
  /** What the requests of the newest run for the destination in use that sent any came to. */
  sent: { kind: string; repeats: number; bytes: number }[]
  brought: Awaited<ReturnType<typeof searchesBrought>>
  runs_held: number
  key_refused: boolean
  skew_seconds: number | null
}

/** What the database says of runs, rows and requests. Each query counts by an index, or over what is unfinished. */
export async function measure(db: Database, config: Config): Promise<Measured> {
  const requires = requirementsOf(config)
  // A part of a job, what carried no data through, what went to another destination and what a clock that was ahead
  // began say nothing of how the job stands.
  const tells = sql`${isWhole} and ${isForDestination} and (${hasCarried} or verdict = 'failed')
    and started_at < clock_timestamp() + ${clocksDifferMs} * interval '1 millisecond'`
  const runs = await sql<RunCount>`
    select job, verdict, sum(runs)::bigint as runs, max(started_at) as started_at, max(finished_at) as finished_at
    from (
      select job, coalesce(verdict, state) as verdict, count(*) as runs,
             max(started_at) filter (where ${tells}) as started_at,
             max(finished_at) filter (where ${tells}) as finished_at
      from run group by 1, 2
      -- What housekeeping has removed is counted on, or the counter would fall.
      union all select job, verdict, runs, null, null from run_tally
    ) told group by 1, 2`.execute(db)
  const requests = await sql<Measured['requests'][number]>`
    select kind, state, count(*) as requests from submission
    where state = any(${unfinishedStates}) and ${isOfDestination} group by 1, 2`.execute(db)
  const looks = await sql<Measured['looks'][number]>`
    select name as queue, state::text as state, count(*) as looks from nightferry_queue.job
    where state < 'completed' and name like 'look-at-%' group by 1, 2`.execute(db)
  const counts = await sql<Counts>`
    select (
             select count(*) from search_page join submission using (submission_id) join run using (run_id)
             where search_page.state = 'listed' and run.state = 'running'
           ) as pages_waiting,
           (select count(*) from notification where next_at is not null) as notifications_pending`.execute(db)
  const sent = await sql<Measured['sent'][number]>`
    select kind, sum(repeats)::float8 as repeats, coalesce(sum(payload_bytes), 0)::float8 as bytes
    from submission
    where run_id = (
      select run_id from run
      where ${isForDestination} and exists (select from submission sent where sent.run_id = run.run_id)
      order by run_id desc limit 1
    ) group by kind`.execute(db)
  const searches = [
    { kind: searchKind, name: '' },
    ...config.pull.searches.map(({ name, search }) => ({ kind: documentKindOf(search), name })),
  ]
  const skew = await skewInUse(db)
  const held = await waitingPlans(db, requires)
  return {
    runs: runs.rows,
    requests: requests.rows,
    looks: looks.rows,
    ...(counts.rows[0] ?? { pages_waiting: 0, notifications_pending: 0 }),
    runs_held: new Set(held.map(({ run_id }) => run_id)).size,
    steps: await lastStepTimes(db),
    sent: sent.rows,
    brought: await searchesBrought(db, searches, { leastShare, aheadMs: clocksDifferMs }),
    key_refused: (await deniedKeyInUse(db)) !== null,
    skew_seconds: skew === null ? null : skew.lowMs / 1000,
  }
}
