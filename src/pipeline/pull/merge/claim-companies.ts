import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { ofSelectedType, seenBy } from './known-companies.ts'
import { notGiven } from './unrenewed-parts.ts'

/**
 * Finds or makes the row of every company on the page, and locks it for the rest of the transaction. Then, not before,
 * it notes which of them the search has shown already: anyone who waited for another page sees what that has shown.
 *
 * Pages of a search are merged side by side. Missing rows are inserted before existing ones are locked, each in the
 * order of ids, and companies come before calculators: anyone who waits, waits for a transaction that is further on,
 * so that no two can wait for each other.
 */
export async function claimCompanies(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await leaveOutCompaniesListedTwice(trx)
  await sql`
    with fresh as (
      insert into company (company_id, name)
      select s.company_id, s.name from staged_company s
      where s.readable and not exists (select from company c where c.company_id = s.company_id)
      order by s.company_id
      on conflict do nothing
      returning company_key
    )
    insert into fresh_company select company_key from fresh`.execute(trx)
  // The present owners of calculators on the page too: a calculator that moves changes them both.
  await sql`
    select count(*) from (
      select from company
      where company_key in (
        select c.company_key from company c join staged_company s using (company_id)
        union
        select k.company_key from calculator k join staged_calculator s using (calculator_id)
      )
      order by company_id
      for no key update
    ) locked`.execute(trx)
  await sql`
    update staged_company s
    set company_key = c.company_key, on_many_pages = c.on_many_pages,
      seen = coalesce(${seenBy(submissionId, sql`c.company_key`)}, false)
    from company c where c.company_id = s.company_id`.execute(trx)
  await sql`create unique index on staged_company (company_key)`.execute(trx)
  await sql`analyze staged_company`.execute(trx)
}

/**
 * Of a company listed twice on one page the first readable one counts; as the other might contain more, it is not
 * complete.
 */
async function leaveOutCompaniesListedTwice(trx: Transaction<Schema>): Promise<void> {
  const { numAffectedRows } = await sql`
    with listed as (
      select company_ordinal,
        row_number() over (partition by company_id order by readable desc, company_ordinal) as nth
      from staged_company
    ), again as (
      delete from staged_company s using listed l
      where l.company_ordinal = s.company_ordinal and l.nth > 1
      returning s.company_id, s.name
    )
    insert into staged_left_out (unit, company_id, reason, excerpt)
    select 'company', company_id, 'company_twice', coalesce(left(to_json(name)::text, 200), 'null') from again`.execute(
    trx,
  )
  if (numAffectedRows === 0n) return
  await sql`
    update staged_company set complete = false
    where company_id in (select company_id from staged_left_out where reason = 'company_twice')`.execute(trx)
  // Another listing may contain what the first one lacks.
  await sql`
    insert into staged_unrenewed_property (company_ordinal, reason)
    select company_ordinal, 'company_twice' from staged_company
    where company_id in (select company_id from staged_left_out where reason = 'company_twice')`.execute(trx)
  await sql`
    insert into staged_unrenewed_value (calculator_ordinal, direction, reason)
    select k.calculator_ordinal, direction, 'company_twice'
    from staged_calculator k
    join staged_company c using (company_ordinal)
    cross join (values ('i'::"char"), ('o'::"char")) groups(direction)
    where c.company_id in (select company_id from staged_left_out where reason = 'company_twice')`.execute(trx)
  await sql`
    delete from staged_calculator k
    where not exists (select from staged_company c where c.company_ordinal = k.company_ordinal)`.execute(trx)
  await sql`
    delete from staged_property p
    where not exists (select from staged_company c where c.company_ordinal = p.company_ordinal)`.execute(trx)
}

/**
 * Finds or makes the row of every calculator on the page, and locks it and the others of the page's companies.
 * The companies must have been claimed: see `claimCompanies` for the order of locks.
 *
 * A calculator belongs to one company. The latest search decides which; within one search the first page does,
 * and a second claim is left out.
 */
export async function claimCalculators(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await leaveOutCalculatorsListedTwice(trx)
  await sql`
    with fresh as (
      insert into calculator (calculator_id, company_key, type_id, title, period_year, period_month)
      select s.calculator_id, c.company_key, s.type_id, s.title, s.period_year, s.period_month
      from staged_calculator s join staged_company c using (company_ordinal)
      where s.readable and not exists (select from calculator k where k.calculator_id = s.calculator_id)
      order by s.calculator_id
      on conflict do nothing
      returning calculator_key
    )
    insert into fresh_calculator select calculator_key from fresh`.execute(trx)
  await sql`
    select count(*) from (
      select from calculator
      where calculator_key in (
        select k.calculator_key from calculator k join staged_calculator s using (calculator_id)
        union
        select k.calculator_key from calculator k join staged_company c using (company_key)
      )
      order by calculator_id
      for no key update
    ) locked`.execute(trx)
  await sql`
    update staged_calculator s
    set calculator_key = k.calculator_key, owner_key = k.company_key, removed = k.removed_at is not null
    from calculator k where k.calculator_id = s.calculator_id`.execute(trx)
  await sql`create unique index on staged_calculator (calculator_key)`.execute(trx)
  await sql`analyze staged_calculator, staged_reference, fresh_calculator`.execute(trx)
  await leaveOutForeign(trx, submissionId, calculatorTypeIds)
}

async function leaveOutCalculatorsListedTwice(trx: Transaction<Schema>): Promise<void> {
  await sql`
    with listed as (
      select calculator_ordinal,
        row_number() over (partition by calculator_id order by readable desc, calculator_ordinal) as nth
      from staged_calculator
    ), again as (
      delete from staged_calculator s using listed l
      where l.calculator_ordinal = s.calculator_ordinal and l.nth > 1
      returning s.company_ordinal, s.calculator_id, s.title
    )
    insert into staged_left_out (unit, company_id, calculator_id, reason, excerpt)
    select 'calculator', c.company_id, a.calculator_id, 'calculator_twice',
      coalesce(left(to_json(a.title)::text, 200), 'null')
    from again a join staged_company c using (company_ordinal)`.execute(trx)
  // Another listing may contain what the first one lacks.
  await sql`
    insert into staged_unrenewed_value (calculator_ordinal, direction, reason)
    select s.calculator_ordinal, direction, 'calculator_twice'
    from staged_calculator s cross join (values ('i'::"char"), ('o'::"char")) groups(direction)
    where s.calculator_id in (select calculator_id from staged_left_out where reason = 'calculator_twice')`.execute(trx)
}

/**
 * Leaves out what the search has shown as another company's, but for one that can be read where the other, or its
 * company, was only shown in a form that cannot: that shows that it is there, and not whose it is. A company that was
 * seen whole was not seen with calculators of types that the search did not select. Of one that cannot be read it is
 * only said why.
 */
async function leaveOutForeign(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    with elsewhere as (
      delete from staged_calculator s
      using staged_company c
      where c.company_ordinal = s.company_ordinal
        and s.calculator_key is not null and s.owner_key is distinct from c.company_key
        and (
          (
            select true from search_seen_calculator z
            where z.submission_id = ${submissionId} and z.calculator_key = s.calculator_key
          )
          or not s.removed and (
            select whole from search_seen_company z
            where z.submission_id = ${submissionId} and z.company_key = s.owner_key
          ) and exists (
            select from calculator k where k.calculator_key = s.calculator_key and ${ofSelectedType(calculatorTypeIds)}
          )
        )
        and not (s.readable and ${notGiven(
          submissionId,
          sql`u.company_key = s.owner_key
            and (u.part = 'company' or u.part = 'calculator' and u.calculator_key = s.calculator_key)`,
        )})
      returning c.company_id, s.calculator_id, s.title, s.readable
    )
    insert into staged_left_out (unit, company_id, calculator_id, reason, excerpt)
    select 'calculator', company_id, calculator_id, 'calculator_of_other_company',
      coalesce(left(to_json(title)::text, 200), 'null')
    from elsewhere where readable`.execute(trx)
}
