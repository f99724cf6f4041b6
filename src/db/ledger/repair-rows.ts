import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { keyInUse } from '../service-key/key-in-use.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { RepairHeldTable } from '../tables/difference-tables.ts'

/** What of a stream could be sent again over what was found of it, and how many rows of it are known. */
export type Repairable = { stream: string; kind: 'absent' | 'different'; rows: number; known: number }

/**
 * By how much the service's clock is ahead of ours at least: the later a change of the service's may have been, the
 * less is written over.
 */
const serviceAhead = sql`coalesce((
  select used_key.skew_low_ms from ${keyInUse} used_key), 0) * interval '1 millisecond'`

/**
 * Rows found otherwise than they were sent, that were not sent again over it yet. Once per finding: what is still
 * absent after it was sent again is for a person, and what was accepted since the comparison is for the next one. Of a
 * different one the service's own change, which bears the time of the service's clock, must not be younger than ours.
 */
const repairable = sql`
  select d.row_id, d.kind, row.stream
  from (
    select row_id, row_difference.kind, changed_there_at, last.compared_at
    from row_difference
    left join (
      select kind, max(compared_at) as compared_at from row_comparison where withheld is null group by kind
    ) last on last.kind = comparison
    where resent_by_run is null
    union
    -- Of a calculator, the row goes out whole: it writes over what differs, if any of its inputs does.
    select row_id, max(kind), null::timestamptz,
           (select max(compared_at) from input_comparison where withheld is null)
    from input_difference
    where kind <> 'foreign' group by row_id having bool_or(resent_by_run is null)
  ) d
  join ledger row using (row_id)
  where not row.pending and row.gone_at is null and row.held_by is null and row.guard_run is null
    and row.retry_action is null and (row.accepted_at > d.compared_at) is not true
    and (d.kind = 'absent' or d.changed_there_at is null or d.changed_there_at - ${serviceAhead} <= row.accepted_at)`

export async function countRepairable(trx: Transaction<Schema>): Promise<Repairable[]> {
  const { rows } = await sql<Repairable>`
    select found.stream, found.kind, found.rows,
           (select count(*) from source_row where source_row.stream = found.stream and gone_at is null) as known
    from (select stream, kind, count(*) as rows from (${repairable}) found_row group by stream, kind) found
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
      from (${repairable}) found
      where found.row_id = acceptance.row_id and found.stream = ${stream} and found.kind = ${kind}
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
