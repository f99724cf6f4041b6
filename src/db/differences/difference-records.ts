import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { isSince } from '../ledger/row-state.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { InputComparison, RowComparison } from '../tables/difference-tables.ts'

/**
 * Makes the differences those that were judged, and counts. What stands as it was found before is not written; what was
 * found of a company that could not be compared this time, or of an input that was not judged, stays, marked as such.
 */
export async function storeDifferences(trx: Transaction<Schema>, runId: number, submissionId: number): Promise<void> {
  await sql`
    create temporary table found_difference on commit drop as
    select judged.verdict as kind, c.company_id, judged.year, nullif(judged.month, 0)::smallint as month,
           judged.field_id as variable_id, judged.row_id, judged.value as sent, judged.stored,
           case
             when judged.verdict <> 'absent' then null
             when mapping.mapped_at > row.accepted_at
               and mapping.submission_id > coalesce(row.outcome_submission, 0) then 'mapped_since'
             when c.company_key is null then 'company_not_returned'
             when not exists (
               select from calculator k
               where k.company_key = c.company_key and k.removed_at is null and k.period_year = judged.year
                 and coalesce(k.period_month, 0) = judged.month
             ) then 'period_not_returned'
             else 'value_not_returned'
           end as cause
    from judged_input judged
    join compared_company c using (company)
    join acceptance row using (row_id)
    join mapping using (partner_id)
    where judged.verdict in ('absent', 'different')
    union all
    select 'foreign', c.company_id, f.year, nullif(f.month, 0)::smallint, lower(v.variable_id), null, null, f.stored,
      null
    from foreign_input f
    join compared_company c using (company)
    join calculator_variable v using (variable_key)
    where f.ours`.execute(trx)
  await stageUnjudgedInputs(trx)
  await sql`analyze found_difference, unjudged_difference`.execute(trx)
  await sql`
    delete from input_difference d
    where not exists (select from left_out_company out where out.company_id = d.company_id)
      and not exists (select from found_difference f where ${sameThing})
      and not exists (select from unjudged_difference f where ${sameThing})`.execute(trx)
  await sql`
    update input_difference d
    set kind = f.kind, row_id = f.row_id, sent = f.sent, stored = f.stored, cause = f.cause,
        found_by_run = case when d.kind = f.kind then d.found_by_run else ${runId} end,
        found_at = case when d.kind = f.kind then d.found_at else clock_timestamp() end,
        resent_by_run = case when d.kind = f.kind then d.resent_by_run end, unjudged = false
    from found_difference f
    where ${sameThing}
      and (d.kind, d.row_id, d.sent, d.stored, d.cause, d.unjudged) is distinct from (f.kind, f.row_id, f.sent,
        f.stored, f.cause, false)`.execute(trx)
  await sql`
    update input_difference d set unjudged = true
    where not unjudged and not exists (select from found_difference f where ${sameThing})`.execute(trx)
  await sql`
    insert into input_difference
      (kind, company_id, period_year, period_month, variable_id, row_id, sent, stored, cause, found_by_run, found_at)
    select kind, company_id, year, month, variable_id, row_id, sent, stored, cause, ${runId}, clock_timestamp()
    from found_difference f
    where not exists (select from input_difference d where ${sameThing})`.execute(trx)
  await storeCounts(trx, runId, submissionId)
}

/** Whether what is accepted of `row` was accepted after `last`, the comparison before. */
const acceptedSinceLast = isSince(
  sql`row.accepted_at`,
  sql`row.outcome_submission`,
  sql`last.compared_at`,
  sql`last.submission_id`,
)

/**
 * Lays out the differences of which this comparison says nothing: nobody judged what was found of the row, nor what any
 * other row of its company sent as the same input. A row that was accepted since the comparison before is another case:
 * what was found of it is over.
 */
async function stageUnjudgedInputs(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temporary table unjudged_difference on commit drop as
    select d.company_id, d.period_year as year, d.period_month as month, d.variable_id
    from input_difference d
    join compared_company c using (company_id)
    join judged_input own on own.row_id = d.row_id and own.company = c.company and own.year = d.period_year
      and own.month = coalesce(d.period_month, 0) and own.field_id = d.variable_id
    join judged_input latest on latest.company = own.company and latest.year = own.year and latest.month = own.month
      and latest.field_id = own.field_id and latest.latest = 1
    join acceptance row on row.row_id = own.row_id
    left join (
      select compared_at, submission_id from input_comparison where withheld is null order by run_id desc limit 1
    ) last on true
    where own.verdict = 'unjudged' and latest.verdict = 'unjudged'
      and not ${acceptedSinceLast}`.execute(trx)
}

/** Of months, 0 stands for none: an equality that a hash join can use. */
const sameThing = sql<boolean>`d.company_id = f.company_id and d.period_year = f.year
  and coalesce(d.period_month, 0) = coalesce(f.month, 0) and d.variable_id = f.variable_id`

async function storeCounts(trx: Transaction<Schema>, runId: number, submissionId: number): Promise<void> {
  await sql`
    insert into input_comparison
      (run_id, submission_id, inputs, equal, written_differently, unjudged, absent, different, new, unsettled,
       foreign_values, foreign_companies, other_fields, left_out_companies)
    select ${runId}, ${submissionId}, inputs, inputs - disagreeing + made_equal, written_differently, unjudged, absent,
           different, new, unsettled, foreign_values, foreign_companies, other_fields, left_out_companies
    from
      (select count(*) filter (where settled) as inputs, count(*) filter (where not settled) as unsettled
        from sent_input) ours,
      (select count(*) as disagreeing from disagreement) disagreeing,
      (select count(*) filter (where verdict = 'equal') as made_equal,
              count(*) filter (where verdict = 'written_differently') as written_differently,
              count(*) filter (where verdict = 'unjudged') as unjudged,
              count(*) filter (where verdict = 'absent') as absent,
              count(*) filter (where verdict = 'different') as different
       from judged_input) judged,
      (select count(*) as new from input_difference where found_by_run = ${runId} and kind <> 'foreign') fresh,
      (select count(*) filter (where ours) as foreign_values,
              count(distinct company) filter (where ours) as foreign_companies,
              count(*) filter (where not ours) as other_fields
       from foreign_input) others,
      (select count(*) as left_out_companies from left_out_company) left_out
    on conflict (run_id) do nothing`.execute(trx)
}

/** Notes that nothing was compared, and why. What was found before stays. */
export async function noteNotCompared(
  trx: Transaction<Schema>,
  runId: number,
  submissionId: number,
  reason: string,
): Promise<void> {
  await trx
    .insertInto('input_comparison')
    .values({ run_id: runId, submission_id: submissionId, withheld: reason })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export type FoundDifference = {
  row_id: number
  kind: 'absent' | 'different'
  company_id: string
  sent: string
  stored: string | null
  cause: 'company_not_returned' | 'value_not_returned' | null
  changed_there_at: string | null
}

/** Makes the temporary tables in which findings, and rows that were not judged, wait until a comparison is whole. */
export async function createFindings(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table finding (
      row_id bigint not null, kind text not null, company_id uuid not null, sent text not null, stored text, cause text,
      changed_there_at timestamptz
    ) on commit drop`.execute(trx)
  await sql`create temp table unjudged_row (row_id bigint not null) on commit drop`.execute(trx)
}

export async function stageFindings(trx: Transaction<Schema>, findings: readonly FoundDifference[]): Promise<void> {
  if (findings.length === 0) return
  await sql`
    insert into finding
    select * from jsonb_to_recordset(${JSON.stringify(findings)}::jsonb) as _(
      row_id bigint, kind text, company_id uuid, sent text, stored text, cause text,
        changed_there_at timestamptz)`.execute(trx)
}

/** Notes rows of which the comparison says nothing, so that what was found of them before stays. */
export async function stageUnjudged(trx: Transaction<Schema>, rowIds: readonly number[]): Promise<void> {
  if (rowIds.length === 0) return
  await sql`insert into unjudged_row select unnest(${rowIds}::bigint[])`.execute(trx)
}

/** Forgets what was staged: the comparison turned out to be none. */
export async function dropFindings(trx: Transaction<Schema>): Promise<void> {
  await sql`drop table finding, unjudged_row`.execute(trx)
}

/**
 * Makes the differences of a kind those that were found. One that stands as it was found before keeps its run, and
 * whether it was sent again over it. One whose row was not judged stays, marked as such, unless the row was accepted
 * since the comparison before.
 * @returns how many are new.
 */
export async function storeFindings(trx: Transaction<Schema>, comparison: string, runId: number): Promise<number> {
  await sql`analyze finding, unjudged_row`.execute(trx)
  await sql`
    delete from row_difference
    where comparison = ${comparison}
      and not exists (select from finding where finding.row_id = row_difference.row_id)
      and not exists (
        select from unjudged_row
        join acceptance row using (row_id)
        left join (
          select compared_at, submission_id from row_comparison
          where kind = ${comparison} and withheld is null order by run_id desc limit 1
        ) last on true
        where unjudged_row.row_id = row_difference.row_id and not ${acceptedSinceLast})`.execute(trx)
  await sql`
    update row_difference set unjudged = true
    where comparison = ${comparison} and not unjudged
      and not exists (select from finding where finding.row_id = row_difference.row_id)`.execute(trx)
  await sql`
    insert into row_difference as known
      (row_id, comparison, kind, company_id, sent, stored, cause, changed_there_at, found_by_run)
    select row_id, ${comparison}, kind, company_id, sent, stored, cause, changed_there_at, ${runId} from finding
    on conflict (row_id) do update
    set kind = excluded.kind, company_id = excluded.company_id, sent = excluded.sent, stored = excluded.stored,
        cause = excluded.cause, changed_there_at = excluded.changed_there_at,
        found_by_run = case when known.kind = excluded.kind then known.found_by_run else excluded.found_by_run end,
        found_at = case when known.kind = excluded.kind then known.found_at else excluded.found_at end,
        resent_by_run = case when known.kind = excluded.kind then known.resent_by_run end,
        unjudged = false`.execute(trx)
  const { rows } = await sql<{ fresh: number }>`
    select count(*) as fresh from row_difference where comparison = ${comparison} and found_by_run = ${runId}`.execute(
    trx,
  )
  await dropFindings(trx)
  return rows[0]?.fresh ?? 0
}

/** Notes what a comparison of a run came to, or why there was none. */
export async function noteComparison(
  trx: Transaction<Schema>,
  comparison: Omit<RowComparison, 'compared_at'>,
): Promise<void> {
  await trx
    .insertInto('row_comparison')
    .values(comparison)
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** The comparisons of a run, by kind. */
export async function rowComparisonsOf(db: Database, runId: number): Promise<RowComparison[]> {
  return await db.selectFrom('row_comparison').selectAll().where('run_id', '=', runId).orderBy('kind').execute()
}

/** The newest comparison of each kind but calculator inputs, also one that was not made. */
export async function lastRowComparisons(db: Database): Promise<RowComparison[]> {
  const { rows } = await sql<RowComparison>`
    select distinct on (kind) * from row_comparison order by kind, run_id desc`.execute(db)
  return rows
}

/** The comparison of a run; null where there was none. */
export async function comparisonOf(db: Database, runId: number): Promise<InputComparison | null> {
  const found = await db.selectFrom('input_comparison').selectAll().where('run_id', '=', runId).executeTakeFirst()
  return found ?? null
}

/** The newest comparison, also one that was not made; null before the first. */
export async function lastComparison(db: Database): Promise<InputComparison | null> {
  const found = await db
    .selectFrom('input_comparison')
    .selectAll()
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found ?? null
}
