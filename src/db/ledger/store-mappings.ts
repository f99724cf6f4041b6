import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import { outcomeTold } from './settle-outcomes.ts'

/** What a mapping request taught that a person should know. */
export type NewMappings = {
  /** Hotels that are another company than before, with the rows that were accepted for the old one. */
  moved: { partner_id: string; company_before: string; company_id: string; rows: number }[]
  /** Companies that several hotels stand for, one of which this request mapped. */
  shared: { company_id: string; partner_ids: string[] }[]
}

/** Companies that are named; the rest is counted in the report. */
const named = 20

/**
 * Stores which company each confirmed hotel stands for.
 *
 * What was accepted was accepted for a company. Of a hotel that moves to another, every row that depends on the mapping
 * becomes pending again, with the reason; what the old company was last known to hold of it is kept for `drift`. Rows
 * of it that are in flight right now went to one or the other, and nobody knows which: they count as not sent.
 *
 * Rows that are pending, of hotels that turn out to be one company, are judged again before any of them is sent: they
 * may contradict each other. So are rows that contradicted each other while a hotel that moves was the same company as
 * another. Inside `settleRows`.
 */
export async function storeMappings(trx: Transaction<Schema>, submissionId: number): Promise<NewMappings> {
  await gatherConfirmed(trx, submissionId)
  await sql`
    create temp table moved_mapping on commit drop as
    select partner_id, mapping.company_id as company_before, confirmed.company_id
    from confirmed_mapping confirmed join mapping using (partner_id)
    where mapping.company_id <> confirmed.company_id`.execute(trx)
  await sql`analyze moved_mapping`.execute(trx)
  await sql`
    insert into mapping as known (partner_id, company_id, submission_id)
    select partner_id, company_id, ${submissionId} from confirmed_mapping
    on conflict (partner_id) do update
    set company_id = excluded.company_id, submission_id = excluded.submission_id, mapped_at = clock_timestamp()
    where known.company_id is distinct from excluded.company_id`.execute(trx)
  const moved = await forgetAcceptances(trx, submissionId)
  await judgePartedAgain(trx)
  const shared = await judgeSharersAgain(trx)
  await sql`drop table confirmed_mapping, moved_mapping`.execute(trx)
  return { moved, shared }
}

/**
 * Keeps other submissions from being settled until the end of the transaction, if a staged result file moves hotels:
 * what they carry of these is denied (`storeMappings`), and who has read it before must have settled it before. Ahead
 * of `settleRows`, which takes a weaker lock.
 */
export async function lockSettlements(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const { rows } = await sql<{ moves: boolean }>`
    select exists (
      select from staged_outcome said join mapping using (partner_id)
      where said.submission_id = ${submissionId} and said.accepted
        and lower(said.company_id) <> mapping.company_id::text
    ) as moves`.execute(trx)
  if (rows[0]?.moves) await sql`lock table held_property in share row exclusive mode`.execute(trx)
}

/**
 * What the result file says of the hotels that were confirmed, which are those without another verdict: the table
 * `confirmed_mapping`.
 */
async function gatherConfirmed(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    create temp table named_company on commit drop as
    select partner_id, company_id from staged_outcome
    where submission_id = ${submissionId} and accepted and company_id is not null`.execute(trx)
  await sql`analyze named_company`.execute(trx)
  await sql`
    create temp table confirmed_mapping on commit drop as
    select distinct on (sent.partner_id) sent.partner_id, named.company_id::uuid as company_id
    from carried_row sent
    left join verdict using (row_id)
    join named_company named using (partner_id)
    where coalesce(verdict.outcome, 'confirmed') = 'confirmed'
    order by sent.partner_id`.execute(trx)
  await sql`analyze confirmed_mapping`.execute(trx)
  await sql`drop table named_company`.execute(trx)
}

/** The stream whose rows are the mappings themselves. */
const mappingStream = 'properties'

/**
 * Whether a row was accepted, and what was is forgotten: it is to be sent again, it was gone for a while, or something
 * else was sent of it since and nobody knows what became of that.
 */
const isForgotten = sql<boolean>`(accepted_hash is null and accepted_at is not null)`

/**
 * Of such a row, what was accepted last: what the request carried that brought it, or, where that is forgotten too,
 * what the row was at that time.
 */
const lastAccepted = sql<Buffer>`coalesce(
  (
    select sent_hash from submission_row carried
    join submission carrier using (submission_id)
    join run using (run_id)
    where carried.row_id = row.row_id and run.destination_id = destination_in_use()
      and ${outcomeTold('carried', 'carrier')} in ('confirmed', 'inferred')
    order by submission_id desc limit 1
  ),
  (
    select hash_before from row_change
    where row_change.row_id = row.row_id and row_change.changed_at >= row.accepted_at
    order by row_change.changed_at limit 1
  ),
  desired_hash)`

async function forgetAcceptances(trx: Transaction<Schema>, submissionId: number): Promise<NewMappings['moved']> {
  await sql`
    create temp table moved_row on commit drop as
    select row_id, stream, gone_at, pending, moved.partner_id, moved.company_before, moved.company_id,
           case when ${isForgotten} then ${lastAccepted} else accepted_hash end as accepted_hash,
           accepted_at, outcome_submission, held_by
    from moved_mapping moved
    join ledger row using (partner_id)
    where stream <> ${mappingStream}
      and (accepted_hash is not null or refused_hash is not null or held_by is not null
        or perhaps_taken_at is not null and gone_at is null or ${isForgotten})`.execute(trx)
  await sql`analyze moved_row`.execute(trx)
  await sql`
    insert into left_behind as held (company_id, row_id, content, accepted_at, submission_id)
    select moved.company_before, row_id,
           case when moved.accepted_hash = row.desired_hash then row.content else past.content_before end,
           moved.accepted_at, moved.outcome_submission
    from moved_row moved
    join source_row row using (row_id)
    left join lateral (
      select content_before from row_change
      where row_change.row_id = moved.row_id and hash_before = moved.accepted_hash
      order by changed_at desc
      limit 1
    ) past on moved.accepted_hash <> row.desired_hash
    where moved.accepted_hash is not null and moved.accepted_at is not null
      and (moved.accepted_hash = row.desired_hash or past.content_before is not null)
    on conflict (company_id, row_id) do update
    set content = excluded.content, accepted_at = excluded.accepted_at, submission_id = excluded.submission_id,
        left_at = clock_timestamp()`.execute(trx)
  // Nor do those that this run sent before: they go out again in it.
  await sql`
    update submission_row set sent_hash = null
    from moved_row, submission
    where submission_row.row_id = moved_row.row_id and submission.submission_id = submission_row.submission_id
      and (submission_row.submission_id = moved_row.held_by
           or submission.run_id = (select run_id from submission mine
             where mine.submission_id = ${submissionId}))`.execute(trx)
  await sql`
    update acceptance
    set accepted_hash = null, accepted_at = null, perhaps_taken_at = null, refused_hash = null, checked_hash = null,
        outcome = null,
        outcome_code = 'mapping_moved',
        outcome_reason = format('its hotel is company %s now; what was accepted was accepted for company %s',
                                moved.company_id, moved.company_before),
        outcome_at = clock_timestamp(), outcome_submission = ${submissionId}
    from moved_row moved
    where acceptance.row_id = moved.row_id`.execute(trx)
  // They were not counted among the pending rows when the run had read the partner's. What the run has carried was: a
  // request that an earlier run left in flight is this run's since it began.
  await sql`
    update run_stream set pending = run_stream.pending + since.rows
    from submission,
         (select stream, count(*) as rows from moved_row
          where not pending and gone_at is null and not exists (
            select from submission_row carried join submission past using (submission_id)
            where carried.row_id = moved_row.row_id
              and past.run_id = (select run_id from submission where submission_id = ${submissionId}))
          group by stream) since
    where submission.submission_id = ${submissionId} and run_stream.run_id = submission.run_id
      and run_stream.stream = since.stream and run_stream.pending is not null`.execute(trx)
  const { rows } = await sql<NewMappings['moved'][number]>`
    with counted as (
      select partner_id, company_before, company_id, count(row_id) filter (where accepted_hash is not null) as rows
      from moved_mapping left join moved_row using (partner_id, company_before, company_id)
      group by partner_id, company_before, company_id
    ),
    noted as (
      insert into mapping_change (partner_id, company_before, company_id, submission_id, rows)
      select partner_id, company_before, company_id, ${submissionId}, rows from counted
    )
    select * from counted order by partner_id`.execute(trx)
  await sql`drop table moved_row`.execute(trx)
  return rows
}

/** What was invalid because two hotels were one company need not be so any more, on either side. */
async function judgePartedAgain(trx: Transaction<Schema>): Promise<void> {
  await sql`
    with moved as (select row_id from moved_mapping join source_row using (partner_id)),
    parted as (
      select row_id, other_row_id from row_finding
      where kind = 'two_partner_ids'
        and (row_id in (select row_id from moved) or other_row_id in (select row_id from moved))
    )
    update acceptance set checked_hash = null
    from ledger row
    where row.row_id in (select row_id from parted union select other_row_id from parted)
      and acceptance.row_id = row.row_id and row.pending and row.checked_hash is not null
        and row.held_by is null`.execute(trx)
}

async function judgeSharersAgain(trx: Transaction<Schema>): Promise<NewMappings['shared']> {
  await sql`
    create temp table sharer on commit drop as
    select mapping.company_id, mapping.partner_id
    from mapping
    where mapping.company_id in (
      select company_id from mapping
      where company_id in (select company_id from confirmed_mapping)
      group by company_id having count(*) > 1)`.execute(trx)
  await sql`
    update acceptance set checked_hash = null
    from sharer join ledger row using (partner_id)
    where acceptance.row_id = row.row_id and row.pending and row.checked_hash is not null
      and row.held_by is null`.execute(trx)
  const { rows } = await sql<NewMappings['shared'][number]>`
    select company_id, array_agg(partner_id order by partner_id) as partner_ids
    from sharer group by company_id order by company_id limit ${named}`.execute(trx)
  await sql`drop table sharer`.execute(trx)
  return rows
}

/** Mappings that moved to another company in some runs, those of most rows first, and how many there are in all. */
export async function mappingsMovedIn(
  db: Database,
  runIds: readonly number[],
): Promise<{ moved: NewMappings['moved']; total: number }> {
  const { rows } = await sql<NewMappings['moved'][number] & { total: number }>`
    select partner_id, company_before, mapping_change.company_id, mapping_change.rows, count(*) over () as total
    from mapping_change join submission using (submission_id)
    where run_id = any(${runIds}::bigint[])
    order by mapping_change.rows desc, partner_id
    limit ${named}`.execute(db)
  return { moved: rows.map(({ total: _, ...row }) => row), total: rows[0]?.total ?? 0 }
}

/**
 * Companies for which a mapping of the runs made a second partner id confirmed, of those of which the partner has
 * anything: what is gone sends nothing. A few of them.
 */
export async function companiesConfirmedTwice(
  db: Database,
  runIds: readonly number[],
): Promise<{ company_id: string; partner_ids: string[] }[]> {
  const { rows } = await sql<{ company_id: string; partner_ids: string[] }>`
    select company_id, array_agg(distinct two.partner_id) as partner_ids
    from submission
    join mapping one using (submission_id)
    join mapping two using (company_id)
    where submission.run_id = any(${runIds}::bigint[]) and submission.kind = 'company_mappings'
      and exists (select from source_row row where row.partner_id = two.partner_id and row.gone_at is null)
    group by company_id
    having count(distinct two.partner_id) > 1
    order by company_id
    limit 5`.execute(db)
  return rows
}
