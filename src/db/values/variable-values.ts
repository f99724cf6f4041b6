import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** Which values are looked at: one variable, in one direction, of one period. */
export type VariableQuestion = {
  variableId: string
  direction: 'input' | 'output'
  year: number
  /** Null: the yearly ones. */
  month: number | null
}

/** The value of one hotel, and that of the year before where both are numbers. */
type VariableValue = {
  partner_id: string | null
  company_id: string
  company_name: string | null
  value: string
  before: string | null
}

type VariableSummary = {
  values: number
  hotels: number
  /** Values that are no number; they are in no figure below. */
  texts: number
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

/** One row per value of the period, and of the year before. A period that has no month is the yearly one. */
function chosen({ variableId, direction, year, month }: VariableQuestion) {
  return sql`
    select k.company_key, k.period_year, v.value, numeric_reading(v.value) as number
    from calculator k
    join calculator_variable n on n.variable_id = ${variableId}
    join calculator_value v on v.company_key = k.company_key and v.calculator_key = k.calculator_key
      and v.direction = ${direction === 'input' ? 'i' : 'o'}::"char" and v.variable_key = n.variable_key
    where k.removed_at is null and k.period_year in (${year}, ${year - 1}) and k.period_month is not distinct from ${month}`
}

/** The distribution of one variable over all hotels. Numbers are texts, as exact as the service wrote them. */
export async function summariseVariable(db: Database, question: VariableQuestion): Promise<VariableSummary> {
  const { rows } = await sql<VariableSummary>`
    with chosen as materialized (${chosen(question)}),
    present as (select * from chosen where period_year = ${question.year}),
    -- A hotel may have several calculators with the variable.
    hotel as (
      select company_key, sum(number) filter (where period_year = ${question.year}) as here,
             sum(number) filter (where period_year < ${question.year}) as before
      from chosen group by company_key
    ),
    figures as (
      select count(*) as values, count(distinct company_key) as hotels, count(*) - count(number) as texts,
             min(number) as low, max(number) as high, sum(number) as sum,
             percentile_disc(array[0.25, 0.5, 0.75]) within group (order by number) as shares
      from present
    ),
    bar as (
      select least(width_bucket(number, low, high + (high - low) / 1000000, ${bars}::int), ${bars}::int) as bar, count(*) as values
      from present, figures where number is not null and high > low group by 1
    )
    select figures.values, hotels, texts, low::text as lowest, shares[1]::text as quarter, shares[2]::text as median,
           shares[3]::text as three_quarters, high::text as highest, sum::text as sum,
           (select count(*) from hotel where here is not null and before is not null) as both_hotels,
           (select sum(here)::text from hotel where before is not null and here is not null) as both_sum,
           (select sum(before)::text from hotel where here is not null and before is not null) as both_before,
           greatest(0, (select count(distinct company_id) from mapping) - hotels) as missing,
           coalesce((select jsonb_agg(jsonb_build_object(
               'from', round(low + (high - low) * (number - 1) / ${bars}::int, 6)::text,
               'to', round(low + (high - low) * number / ${bars}::int, 6)::text,
               'values', coalesce(bar.values, 0)) order by number)
             from generate_series(1, ${bars}::int) number left join bar on bar.bar = number where high > low), '[]') as bars
    from figures`.execute(db)
  const [summary] = rows
  if (summary === undefined) throw new Error('an aggregate answered without a row')
  return summary
}

/** The highest or lowest values of a period, with those of the year before. */
export async function extremesOf(
  db: Database,
  question: VariableQuestion,
  order: 'highest' | 'lowest',
  limit: number,
): Promise<VariableValue[]> {
  const direction = order === 'highest' ? sql`desc` : sql`asc`
  const { rows } = await sql<VariableValue>`
    with chosen as materialized (${chosen(question)}),
    extreme as (
      select company_key, value, number from chosen where period_year = ${question.year} and number is not null
      order by number ${direction}, company_key limit ${limit}
    )
    select (select max(partner_id collate "C") from mapping where mapping.company_id = company.company_id) as partner_id,
           company.company_id, company.name as company_name, extreme.value,
           (select sum(number)::text from chosen
            where chosen.company_key = extreme.company_key and period_year < ${question.year}) as before
    from extreme join company using (company_key)
    order by extreme.number ${direction}, company_key`.execute(db)
  return rows
}

/** Hotels that are mapped to a company and have no value of a period, by their id. */
export async function hotelsWithout(db: Database, question: VariableQuestion, limit: number): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    with chosen as materialized (${chosen(question)})
    select partner_id from mapping
    where not exists (select from company join chosen using (company_key)
                      where company.company_id = mapping.company_id and chosen.period_year = ${question.year})
    order by partner_id collate "C" limit ${limit}`.execute(db)
  return rows.map(({ partner_id }) => partner_id)
}
