import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Finds or makes the row of every calculator on the page, and locks it and the others of the page's companies.
 * The companies must have been claimed: see `claimCompanies` for the order of locks.
 *
 * A calculator belongs to one company. The latest search decides which; within one search the first page does,
 * and a second claim is left out.
 */
export async function claimCalculators(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await leaveOutSecondListings(trx)
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
  await leaveOutForeign(trx, submissionId)
}

async function leaveOutSecondListings(trx: Transaction<Schema>): Promise<void> {
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

async function leaveOutForeign(trx: Transaction<Schema>, submissionId: number): Promise<void> {
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
          )
        )
      returning c.company_id, s.calculator_id, s.title
    )
    insert into staged_left_out (unit, company_id, calculator_id, reason, excerpt)
    select 'calculator', company_id, calculator_id, 'calculator_of_other_company',
      coalesce(left(to_json(title)::text, 200), 'null')
    from elsewhere`.execute(trx)
}
