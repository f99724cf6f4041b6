import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../db/tables/database-schema.ts'

/**
 * Values of one custom property, or standards, of one hotel with their ids in capitals and in small letters, that say
 * different things: one would overwrite the other. Into the table `pair`, from the table `newcomer`.
 */
export async function pairSpellings(trx: Transaction<Schema>, carried: readonly string[]): Promise<void> {
  const sought = sql`
    select distinct partner_id, stream from newcomer where stream in ('custom_property_values', 'standard_holders')`
  await gather(trx, 'spelling', sought, sql`${target(sql`row`)} as target`, carried)
  // Rows of one key are one, so that two with one target are spelt otherwise.
  await sql`
    create temp table meeting on commit drop as
    select newcomer.row_id as one, spelling.row_id as other
    from newcomer join spelling using (partner_id, stream, target)
    where spelling.row_id <> newcomer.row_id`.execute(trx)
  await sql`analyze meeting`.execute(trx)
  await sql`
    insert into pair
    select distinct least(one, other), greatest(one, other), 'two_spellings'
    from meeting
    join source_row mine on mine.row_id = one
    join source_row theirs on theirs.row_id = other
    where mine.content - array['property_id', 'standard_id'] <> theirs.content - array['property_id', 'standard_id']`.execute(
    trx,
  )
  await sql`drop table spelling, meeting`.execute(trx)
}

/** All that the newcomers' companies have in a stream, of which answers and omissions are compared with it. */
const ofTheirCompanies = (stream: string) => sql`
  with own as (select distinct partner_id from newcomer where stream in ('framework_answers', 'omissions'))
  select partner_id, ${stream}::text as stream from own
  union
  select other_id, ${stream}::text from namesake join own using (partner_id)`

/** The answers of the newcomers' hotels, and of other hotels of their companies: the table `answer`. */
export async function gatherAnswers(trx: Transaction<Schema>, carried: readonly string[]): Promise<void> {
  await gather(
    trx,
    'answer',
    ofTheirCompanies('framework_answers'),
    sql`lower(row.content ->> 'data_point_id') as data_point, ${period(sql`row`)} as period`,
    carried,
  )
}

/**
 * An answer and an omission of the same question and period, of one hotel or of two that are confirmed for one company.
 * Which data points a question has, frameworks say.
 */
export async function pairAnsweredAndDeclined(trx: Transaction<Schema>, carried: readonly string[]): Promise<void> {
  await gather(
    trx,
    'omission',
    ofTheirCompanies('omissions'),
    sql`lower(row.content ->> 'question_id') as question, ${period(sql`row`)} as period`,
    carried,
  )
  await sql`
    create temp table asked on commit drop as
    select distinct lower(point ->> 'id') as data_point, lower(point ->> 'questionId') as question
    from reference_data, jsonb_array_elements(document -> 'dataPoints') as point
    where kind = 'framework' and point ->> 'questionId' is not null`.execute(trx)
  await sql`analyze asked`.execute(trx)
  // Each under the partner ids that an answer to it may have.
  await sql`
    create temp table declined on commit drop as
    with elsewhere as (
      select partner_id, other_id from namesake
      union
      select other_id, partner_id from namesake
    )
    select row_id, partner_id, data_point, period, 'answered_and_declined' as kind
    from omission join asked using (question)
    union all
    select row_id, other_id, data_point, period, 'two_partner_ids'
    from omission join asked using (question) join elsewhere using (partner_id)`.execute(trx)
  await sql`analyze declined`.execute(trx)
  await sql`
    create temp table meeting on commit drop as
    select answer.row_id as one, declined.row_id as other, kind
    from answer join declined using (partner_id, data_point, period)`.execute(trx)
  await sql`analyze meeting`.execute(trx)
  await sql`
    insert into pair
    select one, other, kind from meeting where one in (select row_id from newcomer)
    union
    select one, other, kind from meeting where other in (select row_id from newcomer)`.execute(trx)
  await sql`drop table omission, asked, declined, meeting`.execute(trx)
}

export type Fragment = ReturnType<typeof sql>

/** What a row of a hotel is about, by an id that is one in capitals and in small letters. */
export const target = (row: Fragment) => sql`
  lower(coalesce(${row}.content ->> 'data_point_id', ${row}.content ->> 'question_id',
                 ${row}.content ->> 'property_id', ${row}.content ->> 'standard_id'))`

/** The period that a row is for. */
export const period = (row: Fragment) =>
  sql`concat_ws(' ', ${row}.content ->> 'period_type', ${row}.content ->> 'year', ${row}.content ->> 'month')`

/** What a row writes to, so that another hotel of the same company may write the same. Null: it is not compared. */
export const thing = (row: Fragment) => sql`
  case ${row}.stream
    when 'framework_answers' then to_jsonb(${target(row)} || e'\n' || ${period(row)})
    when 'custom_property_values' then to_jsonb(lower(${row}.content ->> 'property_id'))
    when 'standard_holders' then to_jsonb(lower(${row}.content ->> 'standard_id'))
    when 'calculator_settings' then to_jsonb(''::text)
    when 'calculator_inputs' then ${row}.content - 'inputs' end`

/**
 * Rows that the ledger has of some hotels in some streams, which the table `sought` names: the table `rows`. Its pairs
 * are joined by the whole of an index, so that a planner who knows nothing of the ledger goes by hotel, or over all
 * rows once. From then on all joins are between tables that it knows.
 * @param which the streams that runs read: only of these, and only those that the partner still has.
 */
export async function gather(
  trx: Transaction<Schema>,
  rows: string,
  sought: Fragment,
  columns: Fragment,
  which: readonly string[] | 'all',
): Promise<void> {
  const isSought = which === 'all' ? sql`true` : sql`stream = any(${which}::text[])`
  await sql`create temp table sought on commit drop as select * from (${sought}) named where ${isSought}`.execute(trx)
  await sql`analyze sought`.execute(trx)
  await sql`
    create temp table ${sql.id(rows)} on commit drop as
    select row.row_id, row.partner_id, row.stream, ${columns}
    from sought join source_row row using (partner_id, stream)
    where row.gone_at is null or ${which === 'all'}`.execute(trx)
  await sql`analyze ${sql.id(rows)}`.execute(trx)
  await sql`drop table sought`.execute(trx)
}
