import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { OldCount, Removed } from './old-kinds.ts'

/** Runs of one batch. */
const atOnce = 200

/**
 * Runs that ended before a moment and that nothing asks for. The newest of each job stay, by number, by schedule and by
 * how they went: what is due, how fresh the data are and which copy of the database this is are read from them.
 */
const oldRuns = (before: Date): RawBuilder<unknown> => sql`
  select r.run_id from run r
  where r.state <> 'running' and r.finished_at < ${before} and r.destination_id = destination_in_use()
    and r.report is null
    and not exists (select from submission s where s.run_id = r.run_id)
    and r.run_id not in (select needed from (
      select max(run_id) as needed from run group by job, state = 'skipped'
      union all select max(run_id) from run group by job, verdict
      union all select max(run_id) from run where own_database is not null
      union all (select distinct on (job) run_id from run
                 where trigger in ('schedule', 'missed') order by job, scheduled_for desc)
      union all select run_id from stream_watermark
      union all select run_id from stream_snapshot
      union all select run_id from reference_version where run_id is not null
      union all select run_id from reference_withheld where run_id is not null
      union all select run_id from guard_plan where state <> 'superseded'
      union all select guard_run from source_row where guard_run is not null
      union all select found_by_run from input_difference
      union all select resent_by_run from input_difference where resent_by_run is not null
      union all select found_by_run from row_difference
      union all select resent_by_run from row_difference where resent_by_run is not null
      union all select max(run_id) from input_comparison
      union all select max(run_id) from row_comparison group by kind, withheld is null
    ) kept where needed is not null)`

export async function countOldRuns(db: Database, before: Date): Promise<OldCount> {
  const { rows } = await sql<OldCount>`
    select count(*) as rows, min(started_at) as oldest, coalesce(sum(pg_column_size(run)), 0)::float8 as bytes
    from run where run_id in (${oldRuns(before)})`.execute(db)
  return rows[0] ?? { rows: 0, oldest: null, bytes: 0 }
}

/** Removes one batch of runs. How many went is kept by job and verdict: counters that people watch never fall. */
export async function removeOldRuns(db: Database, before: Date): Promise<Removed> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ run_id: number }>`
      ${oldRuns(before)} order by r.run_id limit ${atOnce} for update of r skip locked`.execute(trx)
    const ids = rows.map(({ run_id }) => run_id)
    if (ids.length > 0) await removeRuns(trx, ids)
    return { rows: ids.length, next: ids.length < atOnce ? null : 0 }
  })
}

async function removeRuns(trx: Transaction<Schema>, ids: readonly number[]): Promise<void> {
  await sql`
    insert into run_tally (job, verdict, runs)
    select job, coalesce(verdict, state), count(*) from run where run_id = any(${ids}::bigint[]) group by 1, 2
    on conflict (job, verdict) do update set runs = run_tally.runs + excluded.runs`.execute(trx)
  for (const name of [
    'run_stream',
    'kind_sweep',
    'candidate',
    'ended_submission',
    'guard_plan',
    'repair_held',
    'input_comparison',
    'row_comparison',
    'run',
  ]) {
    await sql`delete from ${sql.table(name)} where run_id = any(${ids}::bigint[])`.execute(trx)
  }
}

/** The newest finished run of each job keeps its report: people ask for the last one, however old it is. */
const oldReports = (before: Date): RawBuilder<unknown> => sql`
  select run_id from run
  where state = 'finished' and report is not null and finished_at < ${before}
    and exists (
      select from run later
      where later.job = run.job and later.state = 'finished' and later.report is not null
        and later.run_id > run.run_id)`

export async function countOldReports(db: Database, before: Date): Promise<OldCount> {
  const { rows } = await sql<OldCount>`
    select count(*) as rows, min(finished_at) as oldest, coalesce(sum(pg_column_size(report)), 0)::float8 as bytes
    from run where run_id in (${oldReports(before)})`.execute(db)
  return rows[0] ?? { rows: 0, oldest: null, bytes: 0 }
}

export async function removeOldReports(db: Database, before: Date): Promise<Removed> {
  const { numAffectedRows } = await sql`
    update run set report = null
    where run_id in (${oldReports(before)} order by run_id limit ${atOnce})`.execute(db)
  const rows = Number(numAffectedRows ?? 0)
  return { rows, next: rows < atOnce ? null : 0 }
}
