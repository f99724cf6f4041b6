import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { endedStates } from '../tables/submission-tables.ts'
import { batchRows, countBy, type OldCount, type Removal, type Removed, submissionEnded } from './old-kinds.ts'

/** Runs of one batch. */
const runsAtOnce = 200

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
      union all select max(run_id) from run where unknown_tasks is not null
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
      union all select max(run_id) from input_comparison group by withheld is null
      union all select max(run_id) from row_comparison group by kind, withheld is null
    ) kept where needed is not null)`

async function countOldRuns(db: Database, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
    select count(*) as rows, min(started_at) as oldest, coalesce(sum(pg_column_size(run)), 0)::float8 as bytes
    from run where run_id in (${oldRuns(before)})`,
  )
}

/** Removes one batch of runs. How many went is kept by job and verdict: counters that people watch never fall. */
async function removeOldRuns(db: Database, before: Date): Promise<Removed> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ run_id: number }>`
      ${oldRuns(before)} order by r.run_id limit ${runsAtOnce} for update of r skip locked`.execute(trx)
    const ids = rows.map(({ run_id }) => run_id)
    if (ids.length > 0) await removeRuns(trx, ids)
    return { rows: ids.length, next: ids.length < runsAtOnce ? null : 0 }
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
    'candidate_row',
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

async function countOldReports(db: Database, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
    select count(*) as rows, min(finished_at) as oldest, coalesce(sum(pg_column_size(report)), 0)::float8 as bytes
    from run where run_id in (${oldReports(before)})`,
  )
}

async function removeOldReports(db: Database, before: Date): Promise<Removed> {
  const { numAffectedRows } = await sql`
    update run set report = null
    where run_id in (${oldReports(before)} order by run_id limit ${runsAtOnce})`.execute(db)
  const rows = Number(numAffectedRows ?? 0)
  return { rows, next: rows < runsAtOnce ? null : 0 }
}

/** Whether a submission `s` of a run `r` ended before a moment, with its run, at the destination in use. */
const isOld = (before: Date): RawBuilder<boolean> => sql<boolean>`(
  s.state = any(${endedStates}::text[]) and ${submissionEnded} < ${before}
  and r.state <> 'running' and r.finished_at < ${before} and r.destination_id = destination_in_use())`

/**
 * Pages of old searches, with what was left out of them. The newest search of each name that was settled with pages
 * keeps all of it.
 */
const quarantinedPages = (before: Date): RawBuilder<unknown> => sql`
  search_page page join submission s using (submission_id) join run r using (run_id)
  where ${isOld(before)} and exists (select from quarantine left_out where left_out.page_id = page.page_id)
    and exists (
      select from submission later join run later_run on later_run.run_id = later.run_id
      where later.kind = s.kind and later.partition = s.partition and later.submission_id > s.submission_id
        and later.state = 'settled' and later_run.destination_id = destination_in_use()
        and exists (select from search_page other where other.submission_id = later.submission_id))`

async function countOldQuarantine(db: Database, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
      with old as (select page.page_id, ${submissionEnded} as ended from ${quarantinedPages(before)})
      select count(*) as rows, min(ended) as oldest, coalesce(sum(pg_column_size(quarantine)), 0)::float8 as bytes
      from old join quarantine using (page_id)`,
  )
}

/** Pages of one batch: of each at most a thousand parts are kept that were left out. */
const pagesAtOnce = 20

/** Goes over the next few pages of old searches. */
async function removeOldQuarantine(db: Database, before: Date, after: number): Promise<Removed> {
  const { rows } = await sql<Removed>`
    with next as materialized (
      select page.page_id from ${quarantinedPages(before)} and page.page_id > ${after}
      order by page.page_id limit ${pagesAtOnce}
    ),
    removed as (delete from quarantine using next where quarantine.page_id = next.page_id returning 1)
    select (select count(*) from removed) as rows, (select max(page_id) from next) as next`.execute(db)
  return rows[0] ?? { rows: 0, next: null }
}

/** Whether a line of a submission, called `line`, is the one that says what became of its row last. */
const isLastOutcome = sql<boolean>`exists (
  select from acceptance took where took.row_id = line.row_id and took.outcome_submission = line.submission_id)`

/** Which rows each old submission carried, but for those whose last outcome it is. */
async function countOldLines(db: Database, before: Date): Promise<OldCount> {
  return await countBy(
    db,
    sql<OldCount>`
    select count(*) as rows, min(${submissionEnded}) as oldest, coalesce(sum(pg_column_size(line)), 0)::float8 as bytes
    from submission s join run r using (run_id) join submission_row line using (submission_id)
    where ${isOld(before)} and not ${isLastOutcome}`,
  )
}

/** Goes over the next few old submissions, as many as carry a batch of rows. */
async function removeOldLines(db: Database, before: Date, after: number): Promise<Removed> {
  const { rows } = await sql<Removed>`
    with next as (
      select submission_id, row_count, sum(row_count) over (order by submission_id) - row_count as carried_before
      from (
        select s.submission_id, s.row_count from submission s join run r using (run_id)
        where s.submission_id > ${after} and ${isOld(before)}
        order by s.submission_id limit 500) listed
    ),
    chunk as materialized (select submission_id from next where carried_before < ${batchRows}),
    removed as (
      delete from submission_row line using chunk
      where line.submission_id = chunk.submission_id and not ${isLastOutcome}
      returning 1)
    select (select count(*) from removed) as rows, (select max(submission_id) from chunk) as next`.execute(db)
  return rows[0] ?? { rows: 0, next: null }
}

/** Tables that name a submission for as long as they keep what they say. Each has a retention of its own, or none. */
const naming = [
  'mapping',
  'mapping_change',
  'left_behind',
  'action',
  'batch_size',
  'complete_search',
  'calculator_value_change',
  'removed_value',
  'removed_property',
  'unrenewed_part',
  'held_property',
  'submission_payload',
] as const

/** What names a submission, called `s`: it stays. */
const isNamed = sql<boolean>`(
  ${sql.join(
    naming.map((name) => sql`exists (select from ${sql.table(name)} n where n.submission_id = s.submission_id)`),
    sql` or `,
  )}
  or exists (select from submission_row line where line.submission_id = s.submission_id and ${isLastOutcome})
  or exists (
    select from search_page page join name_change using (page_id) where page.submission_id = s.submission_id)
  or s.submission_id in (
    select distinct on (newest.kind, newest.partition) newest.submission_id from submission newest
    where newest.state = 'settled' order by newest.kind, newest.partition, newest.submission_id desc)
  or s.run_id in (
    select max(run_id) from input_comparison group by withheld is null
    union all select max(run_id) from row_comparison group by kind, withheld is null))`

/**
 * Requests that were split stand and go together: the first, which is the root, with all of its parts.
 * @param roots the roots that are looked at.
 */
const removable = (roots: RawBuilder<unknown>, before: Date): RawBuilder<unknown> => sql`
  with root as materialized (${roots}),
  member as materialized (
    select root.submission_id as root_id, s.submission_id from root join submission s using (submission_id)
    union all
    select root.submission_id, s.submission_id from root join submission s on s.root_id = root.submission_id
  ),
  needed as (
    select distinct member.root_id from member join submission s using (submission_id) join run r using (run_id)
    where not ${isOld(before)} or ${isNamed}
  ),
  free as materialized (
    select member.submission_id from member where member.root_id not in (select root_id from needed)
  )`

async function countOldSubmissions(db: Database, before: Date): Promise<OldCount> {
  const roots = sql`select submission_id from submission where root_id is null`
  return await countBy(
    db,
    sql<OldCount>`
    ${removable(roots, before)}
    select count(*) as rows, min(${submissionEnded}) as oldest, coalesce(sum(pg_column_size(s)), 0)::float8 as bytes
    from free join submission s using (submission_id)`,
  )
}

/** Requests of one batch, with their pages. */
const requestsAtOnce = 500

/** Goes over the next few requests, and removes those that are old and named by nothing, with all that is theirs. */
async function removeOldSubmissions(db: Database, before: Date, after: number): Promise<Removed> {
  const roots = sql`
    select submission_id from submission where root_id is null and submission_id > ${after}
    order by submission_id limit ${requestsAtOnce}`
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ ids: number[]; next: number | null }>`
      ${removable(roots, before)}
      select array(select submission_id from free) as ids, (select max(submission_id) from root) as next`.execute(trx)
    const { ids, next } = rows[0] ?? { ids: [], next: null }
    if (ids.length > 0) await removeSubmissions(trx, ids)
    return { rows: ids.length, next }
  })
}

async function removeSubmissions(trx: Transaction<Schema>, ids: readonly number[]): Promise<void> {
  await sql`
    delete from submission_release
    where submission_id = any(${ids}::bigint[]) or released_by = any(${ids}::bigint[])`.execute(trx)
  await sql`
    delete from quarantine using search_page
    where search_page.page_id = quarantine.page_id and search_page.submission_id = any(${ids}::bigint[])`.execute(trx)
  for (const name of [
    'search_page',
    'search_seen_calculator',
    'search_seen_company',
    'search_seen_document',
    'staged_outcome',
    'submission_row',
    'input_comparison',
    'row_comparison',
    'submission',
  ]) {
    await sql`delete from ${sql.table(name)} where submission_id = any(${ids}::bigint[])`.execute(trx)
  }
}

/** Runs, requests and what names them, by the names of their kinds. */
export const runRemovals = {
  quarantine: { count: countOldQuarantine, remove: removeOldQuarantine },
  reports: { count: countOldReports, remove: removeOldReports },
  submission_rows: { count: countOldLines, remove: removeOldLines },
  submissions: { count: countOldSubmissions, remove: removeOldSubmissions },
  runs: { count: countOldRuns, remove: removeOldRuns },
} satisfies Record<string, Removal>
