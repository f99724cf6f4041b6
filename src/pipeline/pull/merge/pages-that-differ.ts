import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { ofSelectedType } from './known-companies.ts'
import { notGiven } from './unrenewed-parts.ts'
import { keepLostOfLists } from './value-history.ts'
import { placeNotGiven } from './whole-lists.ts'

/**
 * Settles, in what is staged, where the page contradicts another page of the same search about one company: the greater
 * text stays, by its bytes, and the other is left out. Neither page is known to be right, and which of them is loaded
 * first is up to chance: what comes of them must not be. After the calculators were claimed and before anything is
 * merged.
 *
 * What the other page did not show, or only in a form that cannot be read, contradicts nothing: what has been given
 * before is noted as such in staged_company and staged_calculator. Companies that the search has not shown before cost
 * two looks.
 *
 * @param calculatorTypeIds the types that the search selected; empty for all.
 */
export async function settleContradictions(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  const companies = await noteGivenCompanies(trx, submissionId)
  const calculators = await noteGivenCalculators(trx, submissionId, calculatorTypeIds)
  if (companies + calculators === 0n) return
  await layOutGiven(trx)
  await settleNames(trx, submissionId)
  await settleCalculators(trx, submissionId)
  await settleValues(trx, submissionId)
  await settleProperties(trx, submissionId)
}

async function noteGivenCompanies(trx: Transaction<Schema>, submissionId: number): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    update staged_company s set given = true
    from company c
    where s.seen and s.readable and c.company_key = s.company_key and c.removed_at is null
      and not ${notGiven(submissionId, sql`u.company_key = s.company_key and u.part = 'company'`)}`.execute(trx)
  return numAffectedRows
}

/** Those of other companies too, which the page may show in a form that cannot be read. */
async function noteGivenCalculators(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<bigint> {
  const { numAffectedRows = 0n } = await sql`
    update staged_calculator s set given = true
    from staged_company c
    where c.company_ordinal = s.company_ordinal and not s.removed and (c.seen or s.owner_key <> c.company_key)
      and not exists (select from fresh_calculator f where f.calculator_key = s.calculator_key)
      and coalesce(
        (
          select true from search_seen_calculator z
          where z.submission_id = ${submissionId} and z.calculator_key = s.calculator_key
        ),
        (
          select z.given from search_seen_company z
          where z.submission_id = ${submissionId} and z.company_key = s.owner_key
        ) and exists (
          select from calculator k where k.calculator_key = s.calculator_key and ${ofSelectedType(calculatorTypeIds)}
        ),
        false
      )
      and not ${notGiven(
        submissionId,
        sql`u.company_key = s.owner_key and u.part = 'calculator' and u.calculator_key = s.calculator_key`,
      )}`.execute(trx)
  return numAffectedRows
}

/** Lays out, as given_company and given_calculator, what is on the page and another page of the search has given. */
async function layOutGiven(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temporary table given_company on commit drop as
    select company_ordinal, company_key, company_id from staged_company where given`.execute(trx)
  await sql`
    create temporary table given_calculator on commit drop as
    select s.calculator_ordinal, s.calculator_key, s.calculator_id, c.company_key, c.company_id
    from staged_calculator s
    join staged_company c on c.company_ordinal = s.company_ordinal and c.company_key = s.owner_key
    where s.given and s.readable`.execute(trx)
}

async function settleNames(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with differing as (
      select s.company_ordinal, s.company_id, s.name collate "C" as given, c.name collate "C" as stands
      from given_company g
      join staged_company s using (company_ordinal)
      join company c on c.company_key = g.company_key
      where c.name <> s.name
        and not ${notGiven(submissionId, sql`u.company_key = c.company_key and u.part = 'company_name'`)}
    ), settled as (
      update staged_company s set name = greatest(d.given, d.stands)
      from differing d where s.company_ordinal = d.company_ordinal
    )
    insert into staged_left_out (unit, company_id, reason, excerpt)
    select 'company', company_id, 'company_twice', left(to_json(least(given, stands))::text, 200)
    from differing`.execute(trx)
}

/** A period and its type belong together: the later one, and the greater type of the same. */
async function settleCalculators(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with differing as (
      select g.calculator_ordinal, g.company_id, g.calculator_id, k.type_id, k.period_year, k.period_month,
        concat_ws(' ', s.period_year, s.period_month, s.type_id) as given,
        concat_ws(' ', k.period_year, k.period_month, k.type_id) as stands,
        (s.period_year, coalesce(s.period_month, 0), s.type_id)
          < (k.period_year, coalesce(k.period_month, 0), k.type_id) as less
      from given_calculator g
      join staged_calculator s using (calculator_ordinal)
      join calculator k on k.calculator_key = g.calculator_key
      where (s.type_id, s.period_year, s.period_month) is distinct from (k.type_id, k.period_year, k.period_month)
    ), settled as (
      update staged_calculator s
      set type_id = d.type_id, period_year = d.period_year, period_month = d.period_month
      from differing d where d.less and s.calculator_ordinal = d.calculator_ordinal
    )
    insert into staged_left_out (unit, company_id, calculator_id, reason, excerpt)
    select 'calculator', company_id, calculator_id, 'calculator_twice',
      left(to_json(case when less then given else stands end)::text, 200)
    from differing`.execute(trx)
  await sql`
    with differing as (
      select g.calculator_ordinal, g.company_id, g.calculator_id, s.title collate "C" as given,
        k.title collate "C" as stands
      from given_calculator g
      join staged_calculator s using (calculator_ordinal)
      join calculator k on k.calculator_key = g.calculator_key
      where s.title <> k.title and not ${notGiven(
        submissionId,
        sql`u.company_key = g.company_key and u.part = 'calculator_title' and u.calculator_key = g.calculator_key`,
      )}
    ), settled as (
      update staged_calculator s set title = greatest(d.given, d.stands)
      from differing d where s.calculator_ordinal = d.calculator_ordinal
    )
    insert into staged_left_out (unit, company_id, calculator_id, reason, excerpt)
    select 'calculator', company_id, calculator_id, 'calculator_twice',
      left(to_json(least(given, stands))::text, 200)
    from differing`.execute(trx)
}

async function settleValues(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with differing as (
      select v.ctid as place, g.company_id, g.calculator_id, r.variable_id, v.value collate "C" as given,
        t.value collate "C" as stands
      from given_calculator g
      join staged_value v using (calculator_ordinal)
      join staged_reference r using (reference)
      join calculator_value t on t.company_key = g.company_key and t.calculator_key = g.calculator_key
        and t.direction = v.direction and t.variable_key = r.variable_key
      where t.value <> v.value and not ${notGiven(
        submissionId,
        sql`u.company_key = t.company_key and u.part = 'value' and u.calculator_key = t.calculator_key
          and u.direction = t.direction and u.variable_key = t.variable_key`,
      )}
    ), settled as (
      update staged_value v set value = greatest(d.given, d.stands) from differing d where v.ctid = d.place
    )
    insert into staged_left_out (unit, company_id, calculator_id, item, reason, excerpt)
    select 'value', company_id, calculator_id, variable_id, 'calculator_twice',
      left(to_json(least(given, stands))::text, 200)
    from differing`.execute(trx)
}

/**
 * Of two lists one stays whole: half of one beside half of another is none that the service ever had. Where it is the
 * page's, what is further down in the other is taken away, which a page else does not of a company shown before. But of
 * a list behind whose end something stands that no page has given nothing is taken away here: what becomes of it,
 * whole, is the merge's to judge.
 *
 * What a list loses that becomes shorter is kept, as it stood at that moment: what an earlier page of the search has
 * replaced in it, without making it shorter, is not known any more.
 */
async function settleProperties(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    create temporary table differing_list on commit drop as
    select * from (
      select g.company_ordinal, g.company_key, g.company_id, r.property_key, s.property_id,
        array_agg(s.value collate "C" order by s.ordinal) as given, max(s.ordinal) as ends_at, stood.*
      from given_company g
      join staged_property s using (company_ordinal)
      join referred_property r using (property_id)
      cross join lateral (
        select array_agg(value order by ordinal) filter (where not not_given) as stands,
          bool_or(not_given) as partly, bool_or(not_given and ordinal = 1) as none
        from (
          select t.value collate "C" as value, t.ordinal, ${placeNotGiven(submissionId)} as not_given
          from company_property t where t.company_key = g.company_key and t.property_key = r.property_key
        ) places
      ) stood
      where r.listed
        and not exists (
          select from staged_unrenewed_property h left join referred_property u on u.property_id = h.property_id
          where h.company_ordinal = g.company_ordinal and (h.property_id is null or u.property_key = r.property_key)
        )
      group by g.company_ordinal, g.company_key, g.company_id, r.property_key, s.property_id, stood.stands,
        stood.partly, stood.none
    ) listed
    where given <> stands and not none and (not partly or given < stands)`.execute(trx)
  await sql`
    delete from staged_property s using differing_list d
    where d.given < d.stands and s.company_ordinal = d.company_ordinal and s.property_id = d.property_id`.execute(trx)
  await sql`
    insert into staged_property (company_ordinal, property_id, ordinal, value)
    select d.company_ordinal, d.property_id, place.ordinal, place.value
    from differing_list d cross join unnest(d.stands) with ordinality as place (value, ordinal)
    where d.given < d.stands`.execute(trx)
  await sql`
    insert into shortened_list (company_key, property_key)
    select company_key, property_key from differing_list
    where given > stands and cardinality(given) < cardinality(stands)`.execute(trx)
  await keepLostOfLists(
    trx,
    sql`select company_key, property_key from shortened_list`,
    sql`
      select d.company_key, d.property_key, s.ordinal, s.value
      from differing_list d join staged_property s using (company_ordinal, property_id)`,
    submissionId,
  )
  await sql`
    delete from company_property t using differing_list d
    where d.given > d.stands and t.company_key = d.company_key and t.property_key = d.property_key
      and t.ordinal > d.ends_at`.execute(trx)
  await sql`
    insert into staged_left_out (unit, company_id, item, reason, excerpt)
    select 'property', company_id, property_id, 'company_twice', left(to_json(least(given, stands))::text, 200)
    from differing_list`.execute(trx)
}
