import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { keyInUse } from '../service-key/service-key.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { RepairHeldTable } from '../tables/difference-tables.ts'
import { isSince } from './row-standing.ts'
import { isUnmarked } from './row-state.ts'
import { outcomeTold } from './settle-outcomes.ts'

/**
 * The submission by which what is accepted of a row of the view `ledger` was accepted, and how certain that is, as a
 * table of one row for a lateral join: mostly that of its last outcome. Another where that is of a change which was
 * rejected and taken back since; none once that request is forgotten. Requests to other destinations do not count. The
 * views `differences` and `input_differences` say the same.
 */
export function acceptedBy(row: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select ${row}.outcome_submission as submission_id, ${row}.outcome
    where ${row}.outcome in ('confirmed', 'inferred')
    union all
    (
      select submission_id, ${outcomeTold('took', 'taker')}
      from submission_row took join submission taker using (submission_id) join run using (run_id)
      where coalesce(${row}.outcome not in ('confirmed', 'inferred'), true)
        and took.row_id = ${row}.row_id and took.sent_hash = ${row}.accepted_hash
        and ${outcomeTold('took', 'taker')} in ('confirmed', 'inferred')
        and run.destination_id = (
          select destination_id from submission last join run using (run_id)
          where last.submission_id = ${row}.outcome_submission)
      order by submission_id desc limit 1
    ))`
}

/**
 * By how much the service's clock is ahead of ours at least: the later a change of the service's may have been, the
 * less is written over.
 */
const serviceAhead = sql`coalesce((
  select used_key.skew_low_ms from ${keyInUse} used_key), 0) * interval '1 millisecond'`

/**
 * Whether the time of `d`, of a row called `row`, may be that of our own writing of something else: a page has one time
 * for all custom property values of a company. It is then no later change of the service's to this value.
 */
const ofAnotherOfOurs = sql<boolean>`(row.stream = 'custom_property_values' and exists (
    select from mapping mine
    join mapping twin on twin.company_id = mine.company_id
    join ledger other on other.stream = row.stream and other.partner_id = twin.partner_id
    cross join lateral ${acceptedBy(sql`other`)} took
    join submission writer on writer.submission_id = took.submission_id
    where mine.partner_id = row.partner_id
      and d.changed_there_at - ${serviceAhead} between writer.attempted_at and other.accepted_at
      and other.accepted_at <= clock_timestamp()
      and not exists (select from ${acceptedBy(sql`row`)} own where own.submission_id = took.submission_id)))`

/**
 * Rows that the last comparison found otherwise than they were sent, and that could be sent again: with their kind,
 * whether they were not sent again over it yet (`fresh`), and whether the service's own change may have come after it
 * took ours (`later`). What was accepted since the comparison is for the next one, as is what the newest comparison did
 * not judge, or all of it where that was withheld: something else may stand there since it was found.
 *
 * The service's own change bears the time of the service's clock. When it took ours nobody knows: not before the
 * request left, and maybe long before the row was settled. Of a request that is forgotten, or that left at a time which
 * lies ahead, nothing is known.
 */
export const foundOtherwise = sql`
  select d.row_id, d.kind, d.fresh, row.stream,
         d.kind <> 'absent' and d.changed_there_at is not null
           and not exists (
             select from ${acceptedBy(sql`row`)} taken join submission carrier using (submission_id)
             where carrier.attempted_at between d.changed_there_at - ${serviceAhead} and clock_timestamp())
           and not ${ofAnotherOfOurs}
           as later
  from (
    select row_id, row_difference.kind, resent_by_run is null as fresh, changed_there_at, last.compared_at,
           last.submission_id as search
    from row_difference
    left join (
      select distinct on (kind) kind, compared_at, submission_id, withheld from row_comparison
      order by kind, run_id desc
    ) last on last.kind = comparison
    where not unjudged and last.withheld is null
    union all
    -- Of a calculator, the row goes out whole: it writes over every input, also what differs or was not judged.
    select row_id, max(kind), bool_or(resent_by_run is null), null::timestamptz, max(last.compared_at),
           max(last.submission_id)
    from input_difference
    left join (
      select compared_at, submission_id, withheld from input_comparison order by run_id desc limit 1
    ) last on true
    where kind <> 'foreign' and last.withheld is null
    group by row_id having not bool_or(unjudged)
  ) d
  join ledger row using (row_id)
  where not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
    and row.retry_action is null
    and not ${isSince(sql`row.accepted_at`, sql`row.outcome_submission`, sql`d.compared_at`, sql`d.search`)}`

/** What of a stream could be sent again over what was found of it, and how many rows of it are known. */
export type Repairable = {
  stream: string
  kind: 'absent' | 'different'
  /** Not sent again over it yet: once per finding, and what stays so after that is for a person. */
  rows: number
  /** With those that were: what a person has sent again by the difference. */
  found: number
  known: number
}

/** What a run could have sent again by itself: never over what the service changed later. */
export async function countRepairable(trx: Transaction<Schema>): Promise<Repairable[]> {
  const { rows } = await sql<Repairable>`
    select found.*,
           (select count(*) from source_row where source_row.stream = found.stream and gone_at is null) as known
    from (
      select stream, kind, count(*) filter (where fresh) as rows, count(*) as found
      from (${foundOtherwise}) found_row where not later group by stream, kind
    ) found
    where found.rows > 0
    order by found.stream, found.kind`.execute(trx)
  return rows
}

/** Marks what was found of one stream and kind, to be sent again by the next run. @returns how many rows. */
export async function markForRepair(
  trx: Transaction<Schema>,
  actionId: number,
  runId: number,
  { stream, kind }: Pick<Repairable, 'stream' | 'kind'>,
): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with marked as (
      update acceptance set retry_action = ${actionId}
      from (${foundOtherwise}) found
      where found.row_id = acceptance.row_id and found.fresh and not found.later
        and found.stream = ${stream} and found.kind = ${kind} and ${isUnmarked}
      returning acceptance.row_id
    ),
    told as (
      update row_difference set resent_by_run = ${runId} from marked where marked.row_id = row_difference.row_id
    ),
    told_inputs as (
      update input_difference set resent_by_run = ${runId} from marked where marked.row_id = input_difference.row_id
    )
    select count(*) as rows from marked`.execute(trx)
  return rows[0]?.rows ?? 0
}

/** Notes what is more than the guard lets through. */
export async function noteUnsentRepair(trx: Transaction<Schema>, held: RepairHeldTable): Promise<void> {
  await trx
    .insertInto('repair_held')
    .values(held)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** What a run found and did not have sent again by itself. */
export async function unsentRepairs(db: Database, runId: number): Promise<RepairHeldTable[]> {
  return await db.selectFrom('repair_held').selectAll().where('run_id', '=', runId).orderBy('stream').execute()
}
