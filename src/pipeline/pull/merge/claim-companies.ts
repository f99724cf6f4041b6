import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { seenBy } from './mark-seen.ts'

/**
 * Finds or makes the row of every company on the page, and locks it for the rest of the transaction. Then, not before,
 * it notes which of them the search has shown already: anyone who waited for another page sees what that has shown.
 *
 * Pages of a search are merged side by side. Missing rows are inserted before existing ones are locked, each in the
 * order of ids, and companies come before calculators: anyone who waits, waits for a transaction that is further on,
 * so that no two can wait for each other.
 */
export async function claimCompanies(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await leaveOutSecondListings(trx)
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
async function leaveOutSecondListings(trx: Transaction<Schema>): Promise<void> {
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
