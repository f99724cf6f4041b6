import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { inOtherCompany, type RowOutcome } from './settle-outcomes.ts'
import { shownContent } from './shown-texts.ts'

/** An error row of a task, in the terms of the ledger. What it does not name is null. */
export type NamedError = {
  company_id: string | null
  partner_id: string | null
  data_point_id: string | null
  question_id: string | null
  /** A custom property's id. */
  property_id: string | null
  standard_id: string | null
  field_type_id: string | null
  period_type: string | null
  year: number | null
  /** 1 to 12. */
  month: number | null
  code: string | null
  reason: string | null
  /** Why the error cannot be put down to any row; null: it can. */
  why: string | null
}

/** The question that each data point answers: an error may name an answer by its question only. */
export type Questions = readonly { data_point_id: string; question_id: string }[]

/** Of a submission and of its rows: the task lists failed rows that are none of the request. */
export const unmatchedCode = 'unmatched_errors'

/** An error that matches no row may mean any of them, so none of those that are left can be taken for accepted. */
const unmatchedErrors: RowOutcome = {
  outcome: 'unknown',
  code: 'unmatched_errors',
  reason: 'the task names errors that match no row of the request, so this row may be meant',
}

/** Errors that are handed over at once: what is kept in memory twice, as objects and as text. */
const batch = 5_000

/**
 * Outcomes from the rows that the task's error names. An error matches every row that it does not tell apart: by the
 * partner's id, or by the company where it has none that is known here; then by data point, question, custom property,
 * standard, field type and period as far as it names them. An error whose two ids belong to different companies matches
 * nothing; where it names a property of the request, that is another company at the service than its mapping says, so
 * its rows went there: nobody knows what they are here, nor what those of a property are whose company it is. A row
 * that no error names alone is rejected too, and may have been taken: nobody says which one is meant. So may be what a
 * result file has confirmed, or rejected without proof: the rejection counts, and proves nothing. Errors that match no
 * row are kept with the submission, each with the reason. Inside `settleRows`.
 *
 * @param unnamed what is said of rows that no error names: accepted as far as can be inferred, unknown with a reason,
 *   or confirmed, as a result file has said. What that has said of single rows already stays.
 * @returns how many errors match none of the submission's rows, what that leaves to be said of unnamed ones, and the
 *   partner ids of the submission that errors name with another company than the mapping does.
 */
export async function outcomesFromErrors(
  trx: Transaction<Schema>,
  submissionId: number,
  errors: readonly NamedError[],
  unnamed: RowOutcome,
  questions: Questions = [],
): Promise<{ unmatched: number; rest: RowOutcome; elsewhere: string[] }> {
  if (errors.length === 0) return { unmatched: 0, rest: unnamed, elsewhere: [] }
  await stageErrors(trx, errors)
  await readSentRows(trx, questions)
  await matchErrors(trx)
  const { unmatched, unplaced } = await keepUnmatched(trx, submissionId)
  if (unnamed.outcome === 'inferred') await doubtElsewhere(trx)
  await rejectNamed(trx, unnamed)
  const { rows: elsewhere } = await sql<{ partner_id: string }>`
    select distinct partner_id from named_error where is_elsewhere order by partner_id`.execute(trx)
  await sql`drop table named_error, sent_row, matched_error`.execute(trx)
  const rest = unplaced === 0 || unnamed.outcome !== 'inferred' ? unnamed : unmatchedErrors
  return { unmatched, rest, elsewhere: elsewhere.map(({ partner_id }) => partner_id) }
}

async function stageErrors(trx: Transaction<Schema>, errors: readonly NamedError[]): Promise<void> {
  await sql`
    create temp table named_error (
      ordinal bigint generated always as identity,
      company_id text, partner_id text, data_point_id text, question_id text, property_id text, standard_id text,
      field_type_id text, period_type text, year bigint, month integer, code text, reason text, why text,
      is_elsewhere boolean not null default false, number bigint
    ) on commit drop`.execute(trx)
  for (let start = 0; start < errors.length; start += batch) {
    await sql`
      insert into named_error (company_id, partner_id, data_point_id, question_id, property_id, standard_id,
                               field_type_id, period_type, year, month, code, reason, why)
      select * from jsonb_to_recordset(${JSON.stringify(errors.slice(start, start + batch))}::jsonb) as _(
        company_id text, partner_id text, data_point_id text, question_id text, property_id text, standard_id text,
        field_type_id text, period_type text, year bigint, month integer, code text, reason text, why text)`.execute(
      trx,
    )
  }
  await sql`analyze named_error`.execute(trx)
  await sql`
    update named_error set why = 'it names ' || named_error.partner_id || ' and company ' || named_error.company_id
                                 || ', but ' || named_error.partner_id || ' is company ' || mapping.company_id,
                           is_elsewhere = sent.partner_id is not null
    from mapping left join (select distinct partner_id from carried_row) sent using (partner_id)
    where named_error.why is null and mapping.partner_id = named_error.partner_id
      and mapping.company_id::text <> lower(named_error.company_id)`.execute(trx)
  // Errors that name the same share a number, so that a service which repeats itself costs no more than one that does
  // not.
  await sql`
    update named_error set number = numbered.number
    from (select ordinal, dense_rank() over (order by company_id, partner_id, data_point_id, question_id, property_id,
                                             standard_id, field_type_id, period_type, year, month) as number
          from named_error where why is null) numbered
    where numbered.ordinal = named_error.ordinal`.execute(trx)
}

/** The rows of properties that errors name, with everything that an error can name them by, ids in small letters. */
async function readSentRows(trx: Transaction<Schema>, questions: Questions): Promise<void> {
  await sql`
    create temp table point on commit drop as
    select distinct on (data_point_id) lower(data_point_id) as data_point_id, lower(question_id) as question_id
    from jsonb_to_recordset(${JSON.stringify(questions)}::jsonb) as _(data_point_id text, question_id text)
    order by data_point_id`.execute(trx)
  await sql`analyze point`.execute(trx)
  await sql`
    create temp table sent_row on commit drop as
    with concerned as (
      select partner_id from named_error where partner_id is not null
      union
      select partner_id
      from (select distinct partner_id from carried_row) property join mapping using (partner_id)
      where company_id::text in (select lower(company_id) from named_error)
    ),
    sent as (
      select row_id, source_row.partner_id, content,
             coalesce(content ->> 'period_type', case when content ? 'year' then
               case when content ->> 'month' is null then 'Yearly' else 'Monthly' end end) as period_type
      from carried_row join concerned using (partner_id) join source_row using (row_id)
    )
    select row_id, sent.partner_id, mapping.company_id::text as company_id,
           lower(coalesce(content ->> 'data_point_id', content ->> 'property_id', content ->> 'standard_id')) as thing,
           coalesce(lower(content ->> 'question_id'), point.question_id) as question,
           content ->> 'question_id' is not null as omission,
           content -> 'inputs' as inputs, lower(period_type) as period_type, content ->> 'year' as year,
           coalesce(content ->> 'month', case when period_type = 'Yearly' then '1' end) as month
    from sent
    left join mapping using (partner_id)
    left join point on point.data_point_id = lower(content ->> 'data_point_id')`.execute(trx)
  await sql`create index on sent_row (partner_id, thing)`.execute(trx)
  await sql`create index on sent_row (company_id, thing)`.execute(trx)
  await sql`analyze sent_row`.execute(trx)
  await sql`drop table point`.execute(trx)
}

async function matchErrors(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table matched_error on commit drop as
    with told as (
      select number, company_id, partner_id, lower(coalesce(data_point_id, property_id, standard_id)) as thing,
             lower(question_id) as question, lower(field_type_id) as field, lower(period_type) as period_type, year,
               month,
             min(code) as code, array_agg(distinct reason) as reasons
      from named_error
      where number is not null
      group by number, company_id, partner_id, 4, 5, 6, 7, year, month
    ),
    -- By the company only where the partner's id is missing, or one that nobody here knows.
    placed as (
      select told.*, false as by_company from told where partner_id is not null
      union all
      select told.*, true from told
      where company_id is not null and (partner_id is null or not exists (
        select from source_row known where known.partner_id = told.partner_id))
    ),
    joined as (
      select placed.*, sent.row_id, sent.question as row_question, sent.omission, sent.inputs,
             sent.period_type as row_period_type, sent.year as row_year, sent.month as row_month
      from placed join sent_row sent on not by_company and sent.partner_id = placed.partner_id
        and sent.thing = placed.thing
      union all
      select placed.*, sent.row_id, sent.question, sent.omission, sent.inputs, sent.period_type, sent.year, sent.month
      from placed join sent_row sent on not by_company and sent.partner_id = placed.partner_id and placed.thing is null
      union all
      select placed.*, sent.row_id, sent.question, sent.omission, sent.inputs, sent.period_type, sent.year, sent.month
      from placed join sent_row sent on by_company and sent.company_id = lower(placed.company_id)
        and (placed.thing is null or sent.thing = placed.thing)
    )
    select number, row_id, code, count(*) over (partition by number) > 1 as several,
           array_to_string(reasons[1:10], '; ')
             || case when cardinality(reasons) > 10 then '; and ' || cardinality(reasons) - 10 || ' more' else ''
               end as reason
    from joined
    -- An answer whose question nobody here knows is told apart by its data point alone.
    where (question is null or row_question = question or (thing is not null and row_question is null and not omission))
      and (field is null or exists (
        select from jsonb_object_keys(case jsonb_typeof(inputs) when 'object' then inputs else '{}' end) key
        where lower(key) = field))
      and (period_type is null or row_period_type = period_type)
      and (year is null or row_year = year::text)
      and (month is null or row_month = month::text)`.execute(trx)
  await sql`analyze matched_error`.execute(trx)
}

/** What matches no row is kept for people to look at: so much of it, and the count of all. */
export const unmatchedShown = 1_000

/** @returns how many there are, and how many of them may mean any row. */
async function keepUnmatched(
  trx: Transaction<Schema>,
  submissionId: number,
): Promise<{ unmatched: number; unplaced: number }> {
  const { rows } = await sql<{ unmatched: number; unplaced: number }>`
    with left_over as (
      select *, row_number() over (order by ordinal) as place
      from named_error
      where number is null or not exists (select from matched_error where matched_error.number = named_error.number)
    ),
    shown as (
      select jsonb_agg(
               ${shownContent(
                 sql`(jsonb_strip_nulls(to_jsonb(left_over) - ${notShown}::text[] || jsonb_build_object(
                 'why', coalesce(why, case when partner_id is null and company_id is null then 'it names no company'
                                           else 'it matches no row of the request' end))))`,
                 'short',
               )}
               order by ordinal)
               filter (where place <= ${unmatchedShown}) as errors,
             count(*) as unmatched, count(*) filter (where not is_elsewhere) as unplaced
      from left_over
    ),
    kept as (
      update submission set unmatched = errors, unmatched_count = shown.unmatched from shown
      where submission_id = ${submissionId} and errors is not null
    )
    select unmatched, unplaced from shown`.execute(trx)
  return rows[0] ?? { unmatched: 0, unplaced: 0 }
}

/** What an error is worked with. */
const notShown = ['ordinal', 'number', 'place', 'is_elsewhere']

/** Nothing counts as accepted of properties that errors name with another company, nor of those whose company it is. */
async function doubtElsewhere(trx: Transaction<Schema>): Promise<void> {
  await sql`
    insert into verdict (row_id, outcome, code, reason)
    with told as (
      select partner_id, lower(company_id) as company_id from named_error where is_elsewhere group by 1, 2
    ),
    property as (
      select partner_id, mapping.company_id::text as company_id
      from (select distinct partner_id from carried_row) sent join mapping using (partner_id)
    ),
    doubted as (
      select property.partner_id, format('an error of the task names this property with company %s, and its mapping is'
               ' company %s', string_agg(told.company_id, ', '), property.company_id) as reason
      from told join property using (partner_id)
      group by property.partner_id, property.company_id
      union all
      select property.partner_id, format('an error of the task names %s with the company of this property',
               string_agg(told.partner_id, ', '))
      from told join property using (company_id)
      where property.partner_id not in (select partner_id from told)
      group by property.partner_id
    )
    select row_id, 'unknown', ${inOtherCompany.code}, reason
    from carried_row join doubted using (partner_id)`.execute(trx)
  await sql`analyze verdict (row_id)`.execute(trx)
}

/** @param unnamed what is said of rows without a verdict: confirmed, if a result file has said so. */
async function rejectNamed(trx: Transaction<Schema>, unnamed: RowOutcome): Promise<void> {
  await sql`
    with denied as (
      delete from verdict where row_id in (select row_id from matched_error)
      returning row_id, outcome = 'confirmed' or may_be_taken as is_doubtful
    )
    insert into verdict (row_id, outcome, code, reason, may_be_taken)
    select row_id, 'rejected', min(code), string_agg(distinct reason, '; '),
           bool_and(several) or coalesce(bool_or(is_doubtful), ${unnamed.outcome === 'confirmed'})
    from matched_error left join denied using (row_id)
    group by row_id`.execute(trx)
  await sql`analyze verdict (row_id)`.execute(trx)
}
