import { type RawBuilder, sql, type Transaction } from 'kysely'
import { schemaName } from '../../../db/schema-standing.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { gather, thing } from '../../preflight/pair-rows.ts'

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
