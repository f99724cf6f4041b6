import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { unmatchedShown } from './error-outcomes.ts'
import { inOtherCompany, type RowOutcome } from './settle-outcomes.ts'
import { shownText } from './shown-texts.ts'

type FileOptions = {
  /**
   * Whether the file's elements say which company a property is: then one that is named with two companies is unknown,
   * and an element counts for the company it names only where it names no property at all.
   */
  mapping: boolean
}

/**
 * Outcomes from the staged result file: what it names is confirmed or rejected, what it does not name is unknown. Most
 * is confirmed without a word, so that is what is said of rows without a verdict.
 *
 * An element is matched by the partner's id; where it has none, or one that nobody here knows, by the company that the
 * mapping of a row's property names. A company that several properties of the request stand for is never accepted that
 * way, because nobody says which of them is meant; a rejection counts for all of them, and each may have been taken.
 * Where elements contradict each other the rejection counts, the reason says so, and the row may have been taken.
 * Elements that match no row are kept with the submission. Inside `settleRows`.
 *
 * Outcomes are kept for the company that the mapping names. An element that names a property with another company says
 * what became of the rows there, so nothing is accepted or kept out by it: they are unknown.
 *
 * @returns how many elements match no row, what is said of rows without a verdict, and the partner ids that the file
 *   names with another company than the mapping does.
 */
export async function outcomesFromResultFile(
  trx: Transaction<Schema>,
  submissionId: number,
  { mapping }: FileOptions,
): Promise<{ unmatched: number; rest: RowOutcome; elsewhere: string[] }> {
  await sql`
    create temp table sent_property on commit drop as
    select partner_id, mapping.company_id::text as company_id,
      count(*) over (partition by mapping.company_id) as sharers
    from (select distinct partner_id from carried_row) sent
    left join mapping using (partner_id)`.execute(trx)
  await sql`create index on sent_property (partner_id)`.execute(trx)
  await sql`create index on sent_property (company_id)`.execute(trx)
  await sql`analyze sent_property`.execute(trx)
  await sql`
    create temp table element on commit drop as
    with staged as (
      select row_number() over () as ordinal, staged_outcome.* from staged_outcome where submission_id = ${submissionId}
    )
    select staged.ordinal, staged.partner_id as named_id, staged.company_id,
           coalesce(direct.partner_id, shared.partner_id) as partner_id, is_elsewhere,
           direct.partner_id is null and shared.sharers > 1 as is_one_of_several,
           case when is_elsewhere then ${inOtherCompany.code} else staged.code end as code,
           case when is_elsewhere then null else staged.field_errors end as field_errors,
           case when is_elsewhere or is_shared then null else accepted end as accepted,
           case when is_elsewhere
                then concat_ws('; ', reason, 'the result file names this property with company '
                     || lower(staged.company_id) || ', and its mapping is company ' || direct.company_id)
                when is_shared
                then concat_ws('; ', reason, 'the result file names company ' || shared.company_id
                     || ', and several properties of the request stand for it')
                else reason end as reason
    from staged
    left join sent_property direct on direct.partner_id = staged.partner_id
    left join sent_property shared
      on direct.partner_id is null and shared.company_id = lower(staged.company_id)
      and (staged.partner_id is null or (not ${mapping} and not exists (
        select from source_row known where known.partner_id = staged.partner_id)))
    cross join lateral (
      select not ${mapping} and coalesce(direct.company_id <> lower(staged.company_id), false) as is_elsewhere,
             coalesce(direct.partner_id is null and shared.sharers > 1 and accepted, false) as is_shared
    ) judged`.execute(trx)
  await sql`create index on element (partner_id)`.execute(trx)
  await sql`analyze element`.execute(trx)
  await nameRows(trx, mapping)
  const unmatched = await keepUnmatched(trx, submissionId)
  const { rows: elsewhere } = await sql<{ partner_id: string }>`
    select distinct partner_id from element where is_elsewhere order by partner_id`.execute(trx)
  await sql`drop table sent_property, element`.execute(trx)
  return { unmatched, rest: { outcome: 'confirmed' }, elsewhere: elsewhere.map(({ partner_id }) => partner_id) }
}

const notInResult = { code: 'not_in_result', reason: 'the result file does not name this property' }

/** What the file says of each property that it names: the table `named`. */
async function judgeProperties(trx: Transaction<Schema>, mapping: boolean): Promise<void> {
  await sql`
    create temp table named on commit drop as
    with verdict as (
      select partner_id,
             case when bool_or(not accepted) then false
                  when bool_or(accepted is null) or (${mapping}
                    and count(distinct lower(company_id)) filter (where accepted) > 1) then null
                  else true end as accepted,
             bool_or(accepted) as any_accepted, bool_or(not accepted) as any_rejected,
             bool_or(accepted is null) as any_undecided, bool_and(is_one_of_several) as one_of_several,
             count(distinct lower(company_id)) filter (where accepted) as companies
      from element
      where partner_id is not null
      group by partner_id
    )
    select partner_id, verdict.accepted, verdict.companies, verdict.one_of_several,
           verdict.any_accepted::int + verdict.any_rejected::int + verdict.any_undecided::int > 1 as contradicted,
           min(code) filter (where element.accepted is not distinct from verdict.accepted) as code,
           string_agg(distinct reason, '; ') filter (where element.accepted is not distinct from verdict.accepted)
             as reason,
           coalesce(jsonb_agg(field_errors) filter (where field_errors is not null), '[]') as field_errors
    from verdict join element using (partner_id)
    group by partner_id, verdict.accepted, verdict.companies, verdict.one_of_several, contradicted`.execute(trx)
  await sql`analyze named (partner_id)`.execute(trx)
}

async function nameRows(trx: Transaction<Schema>, mapping: boolean): Promise<void> {
  await judgeProperties(trx, mapping)
  await sql`
    insert into verdict (row_id, outcome, code, reason, may_be_taken)
    select row_id,
           case when named.accepted then 'confirmed' when named.accepted = false then 'rejected' else 'unknown' end,
           case when named.partner_id is null then ${notInResult.code}
                when ${mapping} and named.accepted is null and named.companies > 1 then 'result_contradicts'
                else named.code end,
           case when named.partner_id is null then ${notInResult.reason}
                when ${mapping} and named.accepted is null and named.companies > 1
                then 'the result file maps this property to ' || named.companies || ' companies'
                when named.contradicted
                then concat_ws('; ', ${ofRow},
                  'the result file names this property more than once and contradicts itself')
                else ${ofRow} end,
           coalesce(named.contradicted or named.one_of_several, false)
    from carried_row sent left join named using (partner_id)
    where named.accepted is not true or named.contradicted or named.code is not null or named.reason is not null
      or named.field_errors <> '[]'`.execute(trx)
  await sql`analyze verdict (row_id, outcome)`.execute(trx)
  await sql`drop table named`.execute(trx)
}

/** What is said of a row: where elements name fields, those that the row has; the others fail it with its property. */
const ofRow = sql`
  case when named.field_errors = '[]' then named.reason
       else coalesce((
         select string_agg(distinct concat_ws(': ', error ->> 'field', error ->> 'reason'), '; ')
         from source_row row, jsonb_array_elements(named.field_errors) list, jsonb_array_elements(list) error
         where row.row_id = sent.row_id and (error ->> 'field' is null or exists (
           select from jsonb_object_keys(coalesce(row.content -> 'inputs', '{}')) field
           where lower(field) = lower(error ->> 'field')))
       ), 'rejected with its property: ' || named.reason) end`

async function keepUnmatched(trx: Transaction<Schema>, submissionId: number): Promise<number> {
  const { rows } = await sql<{ unmatched: number }>`
    with left_over as (
      select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
               'partner_id', named_id, 'company_id', company_id, 'code', ${shownText(sql`code`, 'short')},
               'reason', ${shownText(sql`reason`, 'short')},
               'why', case when named_id is null and company_id is null then 'it names no property'
                           else 'it names no property of the request' end)) order by ordinal)
               filter (where place <= ${unmatchedShown}) as elements,
             count(*) as unmatched
      from (select *, row_number() over (order by ordinal) as place from element where partner_id is null) element
    )
    update submission set unmatched = elements, unmatched_count = left_over.unmatched from left_over
    where submission_id = ${submissionId} and elements is not null
    returning left_over.unmatched`.execute(trx)
  return rows[0]?.unmatched ?? 0
}
