import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'
import { acceptedSinceLast } from './findings.ts'

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
