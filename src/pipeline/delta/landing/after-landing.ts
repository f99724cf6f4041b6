import { type RawBuilder, sql, type Transaction } from 'kysely'
import { destinationSchemas, schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { gather, thing } from '../../preflight/pair-rows.ts'
import { hasUnknownCode } from './unknown-codes.ts'

/**
 * Looks after rows that have become again what was accepted of them: not pending, they are not compared with others. If
 * another row may have overwritten one while it said something else, its acceptance is forgotten: it is pending, and
 * preflight judges it. That is a row that writes the same thing, of its hotel or of another hotel of the company, and
 * was accepted since, is in flight, went to an end that nobody knows, or was rejected and may have been taken. Rows
 * that wait to write it are judged again.
 *
 * @param rows a query for the numbers of the rows, as `row_id`; the ledger must have their content.
 * @param since when the row, called `row`, ceased to say what was accepted. Null: when it was accepted.
 */
export async function doubtReverted(
  trx: Transaction<Schema>,
  rows: RawBuilder<unknown>,
  since: RawBuilder<Date | null>,
): Promise<void> {
  await sql`
    create temp table reverted on commit drop as
    select row_id, row.partner_id, row.stream, ${thing(sql`row`)} as thing,
           coalesce(${since}, took.accepted_at, '-infinity') as since
    from (${rows}) again
    join source_row row using (row_id)
    join acceptance took using (row_id)`.execute(trx)
  await sql`analyze reverted`.execute(trx)
  const counted = await sql<{ any: boolean }>`
    select exists (select from reverted where thing is not null) as any`.execute(trx)
  if (counted.rows[0]?.any === true) await doubtOverwritten(trx)
  await sql`drop table reverted`.execute(trx)
}

/** When a row last ceased to say what was accepted of it, as its past tells. */
export const ceasedAt = sql<Date | null>`(
  select max(change.changed_at) from ${sql.id(schemaName, 'row_change')} change
  where change.row_id = row.row_id and change.hash_before = took.accepted_hash)`

async function doubtOverwritten(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table namesake on commit drop as
    with own as (select distinct partner_id from reverted)
    select partner_id, partner_id as other_id from own
    union
    select own.partner_id, two.partner_id
    from own join mapping one on one.partner_id = own.partner_id join mapping two using (company_id)`.execute(trx)
  await sql`analyze namesake`.execute(trx)
  const sought = sql`
    select distinct other_id as partner_id, stream
    from namesake join reverted using (partner_id)
    where thing is not null`
  await gather(trx, 'rival', sought, sql`${thing(sql`row`)} as thing`, 'all')
  await sql`
    create temp table meeting on commit drop as
    select reverted.row_id, since, rival.row_id as rival_id
    from reverted
    join namesake using (partner_id)
    join rival on rival.partner_id = namesake.other_id and rival.stream = reverted.stream
      and rival.thing = reverted.thing
    where rival.row_id <> reverted.row_id`.execute(trx)
  await sql`analyze meeting`.execute(trx)
  await sql`
    with met as materialized (
      select meeting.row_id, since, rival_id, rival.held_by is not null as flies,
             rival.pending and rival.gone_at is null and rival.checked_hash is not null as waits,
             greatest(rival.accepted_at, rival.perhaps_taken_at) as written_at,
             rival.outcome_submission > took.outcome_submission and rival.outcome is distinct from 'rejected' as later
      from meeting join ledger rival on rival.row_id = rival_id
      join acceptance took on took.row_id = meeting.row_id
    ),
    doubted as (
      update acceptance
      set accepted_hash = null, refused_hash = null, outcome = null, outcome_code = 'row_reverted',
          outcome_reason = 'it says again what was accepted; another row that writes the same may have overwritten it',
          outcome_at = clock_timestamp()
      -- A time that lies ahead, or did, tells nothing: our database's clock was put back since. What a later request
      -- wrote may have come afterwards, whatever the times say.
      where row_id in (select row_id from met
        where flies or (written_at >= since or later or since > clock_timestamp()) and written_at is not null)
    )
    update acceptance set checked_hash = null
    where row_id in (select rival_id from met where waits and not flies)`.execute(trx)
  await sql`drop table namesake, rival, meeting`.execute(trx)
}

/**
 * Rows of a stream that contradict themselves and were never sent: the table `unsent_row`. The guard does not hold such
 * rows, so nothing marks them as new, and yet no destination has anything of them. To be asked before the rows land.
 * Requests and destinations are looked at where they are kept, because the copies that a plan works on lack some.
 */
export async function findUnsent(trx: Transaction<Schema>, stream: string): Promise<void> {
  const told = (await destinationSchemas(trx)).map(
    (schema) => sql`
      and not exists (
        select from ${sql.id(schema, 'acceptance')} took
        where took.row_id = row.row_id and coalesce(accepted_at, perhaps_taken_at, outcome_at) is not null)`,
  )
  await sql`
    create temp table unsent_row on commit drop as
    select row_id from source_row row
    where stream = ${stream} and contradiction is not null and gone_at is null
      and not exists (select from ${sql.id(schemaName, 'submission_row')} sent where sent.row_id = row.row_id)
      ${sql.join(told, sql` `)}`.execute(trx)
  await sql`analyze unsent_row`.execute(trx)
}

/**
 * Rows of a stream of which nothing was ever sent, and that were not staged now: those that wait for approval as new,
 * and those with a code that no lookup knows. The table `missing_row`, to be asked before the rows land.
 */
export async function findMissingUnsent(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`
    create temp table missing_row on commit drop as
    select row_id from source_row
    where stream = ${stream} and gone_at is null
      and (guard_run is not null and guard_change = 'new' or ${hasUnknownCode(sql`row_key`)})
      and not exists (select from staged where staged.row_key = source_row.row_key)`.execute(trx)
}

/**
 * Rows of `missing_row` with their columns of `source_row`, except those that only ever waited for approval as new,
 * those with a code that no lookup knows, and those of `unsent_row`: nothing of these went anywhere, so the guard has
 * no reason to count them as gone.
 */
export const lostRows = sql`missing_row join source_row using (row_id)
  where guard_change is distinct from 'new' and not ${hasUnknownCode(sql`row_key`)}
    and not exists (select from unsent_row where unsent_row.row_id = source_row.row_id)`

/**
 * Sets the tombstones of what is missing. Where the guard holds, `lostRows` wait for approval instead.
 *
 * @returns how many rows got their tombstone.
 */
export async function markMissing(trx: Transaction<Schema>, runId: number, held: boolean): Promise<number> {
  const waits = sql`(
    ${held} and guard_change is distinct from 'new' and not ${hasUnknownCode(sql`row_key`)} and unsent.row_id is null)`
  const { rows } = await sql<{ gone: number }>`
    with marked as (
      update source_row
      set gone_at = case when ${waits} then gone_at else clock_timestamp() end,
          guard_run = case when ${waits} then ${runId}::bigint end,
          guard_change = case when ${waits} then 'gone' end
      from missing_row missing
      left join unsent_row unsent on unsent.row_id = missing.row_id
      where missing.row_id = source_row.row_id
      returning gone_at
    )
    select count(gone_at) as gone from marked`.execute(trx)
  return rows[0]?.gone ?? 0
}
