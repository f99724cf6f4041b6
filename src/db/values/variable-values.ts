import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { shownText } from '../ledger/shown-texts.ts'

/** Which values are looked at: one variable, in one direction, of one period. */
export type VariableQuestion = {
  variableId: string
  direction: 'input' | 'output'
  year: number
  /** Null: the yearly ones. */
  month: number | null
}

/**
 * The value of one hotel, and that of the year before where both are numbers: of an output that of the calculator of
 * the same type, where each year has one.
 */
type ExtremeValue = {
  partner_id: string | null
  company_id: string
  company_name: string | null
  value: string
  before: string | null
}

type VariablePicture = {
  values: number
  hotels: number
  /** Values that are no number; they are in no figure below. */
  texts: number
  /** Inputs of which a hotel's calculators hold different values; they are in no figure below. */
  differing: number
  lowest: string | null
  quarter: string | null
  median: string | null
  three_quarters: string | null
  highest: string | null
  sum: string | null
  /** Sums of the hotels that have a number in this period and in the same one of the year before. */
  both_hotels: number
  both_sum: string | null
  both_before: string | null
  /** Hotels that are mapped to a company and have no value of it. */
  missing: number
  bars: { from: string; to: string; values: number }[]
  highest_hotels: ExtremeValue[]
  lowest_hotels: ExtremeValue[]
  /** Mapped hotels without a value of it, by their id. */
  missing_hotels: string[]
}

type Variable = { variable_id: string; name: string | null }

/** The variables that pages have named, by name. */
export async function listVariables(db: Database, limit: number): Promise<Variable[]> {
  const { rows } = await sql<Variable>`
    select variable_id, name from calculator_variable order by name, variable_id limit ${limit}`.execute(db)
  return rows
}

/** The periods that calculators have, the newest first. */
export async function listPeriods(db: Database, limit: number): Promise<{ year: number; month: number | null }[]> {
  const { rows } = await sql<{ year: number; month: number | null }>`
    select period_year as year, period_month as month from calculator where removed_at is null
    group by 1, 2 order by 1 desc, 2 desc nulls first limit ${limit}`.execute(db)
  return rows
}

const bars = 24

/**
 * One row per output of the period, and of the year before; of inputs one per hotel, because what a hotel was fed with
 * does not become more by being in several calculators. Where these differ, nobody knows which is right: it has no
 * number. A period that has no month is the yearly one.
 */
function chosen({ variableId, direction, year, month }: VariableQuestion) {
  const values = sql`
    select k.company_key, k.type_id, k.period_year, v.value, numeric_reading(v.value) as number, false as differs
    from calculator k
    join calculator_variable n on n.variable_id = ${variableId}
    join calculator_value v on v.company_key = k.company_key and v.calculator_key = k.calculator_key
      and v.direction = ${direction === 'input' ? 'i' : 'o'}::"char" and v.variable_key = n.variable_key
    where k.removed_at is null and k.period_year in (${year}, ${year - 1})
      and k.period_month is not distinct from ${month}`
  if (direction === 'output') return values
  return sql`
    select company_key, null::uuid as type_id, period_year, min(value collate "C") as value,
           case when count(number) = count(*) and min(number) = max(number) then min(number) end as number,
           min(value collate "C") <> max(value collate "C")
             and not (count(number) = count(*) and min(number) = max(number)) as differs
    from (${values}) each group by company_key, period_year`
}

/** The hotels with the highest or lowest numbers of what was chosen, as JSON. */
function extremes(order: 'highest' | 'lowest', limit: number) {
  const direction = order === 'highest' ? sql`desc` : sql`asc`
  return sql`
    select coalesce(jsonb_agg(jsonb_build_object(
             'partner_id', (select partner_id from companies shown where shown.company_id = company.company_id),
             'company_id', company.company_id, 'company_name', company.name, 'value', extreme.value,
             'before', (select before::text from pair where pair.company_key = extreme.company_key
               and pair.type_id is not distinct from extreme.type_id))
             order by extreme.number ${direction}, company_key), '[]')
    from (
      select company_key, type_id, value, number from present where number is not null
      order by number ${direction}, company_key limit ${limit}
    ) extreme join company using (company_key)`
}

/**
 * The distribution of one variable over all hotels, with the first of each end and of those that have none. Numbers are
 * texts, as exact as the service wrote them. One statement, because finding the values takes longer than all the rest.
 */
export async function pictureOf(db: Database, question: VariableQuestion, limit: number): Promise<VariablePicture> {
  const { rows } = await sql<VariablePicture>`
    with chosen as materialized (${chosen(question)}),
    present as materialized (select * from chosen where period_year = ${question.year}),
    -- A hotel may have several calculators with the variable.
    hotel as materialized (
      select company_key, sum(number) filter (where period_year = ${question.year}) as here,
             sum(number) filter (where period_year < ${question.year}) as before
      from chosen group by company_key
    ),
    -- Of several calculators of one type nobody knows which goes on with which.
    pair as materialized (
      select company_key, type_id, min(number) filter (where period_year < ${question.year}) as before
      from chosen group by company_key, type_id
      having count(*) filter (where period_year = ${question.year}) = 1
         and count(*) filter (where period_year < ${question.year}) = 1
    ),
    figures as (
      select count(*) as values, count(distinct company_key) as hotels,
             count(*) filter (where number is null and not differs) as texts,
             count(*) filter (where differs) as differing,
             min(number) as low, max(number) as high, sum(number) as sum,
             percentile_disc(array[0.25, 0.5, 0.75]) within group (order by number) as shares
      from present
    ),
    bar as (
      select least(width_bucket(number, low, high + (high - low) / 1000000, ${bars}::int), ${bars}::int) as bar,
        count(*) as values
      from present, figures where number is not null and high > low group by 1
    ),
    missing as materialized (
      select partner_id from mapping
      where not exists (select from company join present using (company_key)
                        where company.company_id = mapping.company_id)
    )
    select figures.values, hotels, texts, differing, low::text as lowest, shares[1]::text as quarter,
           shares[2]::text as median, shares[3]::text as three_quarters, high::text as highest, sum::text as sum,
           both_hotels, both_sum, both_before,
           (select count(*) from missing) as missing,
           coalesce((select jsonb_agg(jsonb_build_object(
               'from', round(low + (high - low) * (number - 1) / ${bars}::int, 6)::text,
               'to', round(low + (high - low) * number / ${bars}::int, 6)::text,
               'values', coalesce(bar.values, 0)) order by number)
             from generate_series(1, ${bars}::int) number left join bar on bar.bar = number where high > low), '[]')
               as bars,
           (${extremes('highest', limit)}) as highest_hotels,
           (${extremes('lowest', limit)}) as lowest_hotels,
           (select coalesce(jsonb_agg(partner_id order by partner_id collate "C"), '[]')
            from (select partner_id from missing order by partner_id collate "C" limit ${limit}) first)
              as missing_hotels
    from figures
    cross join (
      select count(*) as both_hotels, sum(here)::text as both_sum, sum(before)::text as both_before
      from hotel where here is not null and before is not null
    ) both_years
    limit 1`.execute(db)
  const [picture] = rows
  if (picture === undefined) throw new Error('an aggregate answered without a row')
  return picture
}

/** One value of one calculator of a hotel, as the service stores it. */
type HotelValue = {
  calculator_id: string
  title: string | null
  period_year: number
  period_month: number | null
  direction: 'input' | 'output'
  variable_id: string
  variable_name: string | null
  value: string
  not_renewed_since: Date | null
}

/** The values of the company that a hotel is, the newest period first. */
export async function hotelValues(db: Database, partnerId: string, limit: number): Promise<HotelValue[]> {
  const { rows } = await sql<HotelValue>`
    select v.calculator_id, k.title, v.period_year, v.period_month, v.direction, v.variable_id, v.variable_name,
      ${shownText(sql`v.value`, 'short')} as value, v.not_renewed_since
    from calculator_values v join calculators k on k.calculator_id = v.calculator_id
    where v.company_id = (select company_id from mapping where partner_id = ${partnerId}) and k.removed_at is null
    order by v.period_year desc, v.period_month desc nulls first, v.direction desc, v.variable_name, v.calculator_id
    limit ${limit}`.execute(db)
  return rows
}

/** A document of one of the searches in `pull.searches` that names a hotel's company. */
type HotelDocument = {
  search: string
  list: string
  document_id: string
  /** As JSON: its numbers may have more digits than a double keeps. */
  document: string
  first_seen_at: Date
  changed_at: Date
  removed_at: Date | null
}

/**
 * The documents of the company that a hotel is: by their id, or by the member that names it.
 * @param companyMembers what documents of the searches call the company, from the contract.
 */
export async function hotelDocuments(
  db: Database,
  partnerId: string,
  companyMembers: readonly string[],
  limit: number,
): Promise<HotelDocument[]> {
  const { rows } = await sql<HotelDocument>`
    with company as (select company_id from mapping where partner_id = ${partnerId})
    select search, list, document_id, document::text as document, first_seen_at, changed_at, removed_at
    from documents
    -- By the index: an id is made of members, too.
    where uuids_of_document(document) && array(select company_id from company)
      and (document_id = (select company_id::text from company)
           or exists (select from unnest(${companyMembers}::text[]) member
                      where lower(document ->> member) = (select company_id::text from company)))
    order by changed_at desc, search, list, document_id
    limit ${limit}`.execute(db)
  return rows
}
