import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/database-schema.ts'
import { type ProvenSearch, storedInputs } from './stage-inputs.ts'

/**
 * Judges what `stageInputs` has laid out: the tables `judged_input`, of those that do not stand as they were sent, and
 * `foreign_input`.
 *
 * An input stands where one calculator of its company and period has the very text; several types may have it. One
 * that is blank stands where no calculator holds any. Where several properties of ours are one company, what stands may
 * be what any of them sent last: it is right if it is right for one of them, and not judged while one is unsettled.
 *
 * If the search selected calculator types, absence might be that of a calculator that was not asked for, and is not
 * judged.
 */
export async function judgeInputs(trx: Transaction<Schema>, search: ProvenSearch): Promise<void> {
  const selective = search.calculatorTypeIds.length > 0
  await sql`
    create temporary table doubted_company on commit drop as
    select company, company_key from compared_company
    where company in (select company from unequal_input where row_id is not null)`.execute(trx)
  await sql`analyze doubted_company`.execute(trx)
  await sql`
    create temporary table stored_input on commit drop as ${storedInputs(sql`doubted_company`, search)}`.execute(trx)
  await sql`analyze stored_input`.execute(trx)
  await sql`
    create temporary table disagreement on commit drop as
    select s.* from unequal_input s where s.row_id is not null and s.value is not null
    union all
    select s.* from unequal_input s
    where s.row_id is not null and s.value is null and exists (select from stored_input t where ${sameKey})`.execute(
    trx,
  )
  await sql`
    create temporary table unsent_input on commit drop as
    select s.company, s.year, s.month, s.variable_key, s.value
    from unequal_input s
    where s.row_id is null and not exists (select from sent_input t where ${sameKey})`.execute(trx)
  await sql`analyze disagreement, unsent_input`.execute(trx)
  // The service adds months up to years where it was told to: years of which we sent a month.
  await sql`
    create temporary table summed_year on commit drop as
    select distinct company, year, variable_key, 0 as month
    from sent_input
    where month > 0 and value is not null
      and (company, year, variable_key) in (
        select company, year, variable_key from unsent_input where month = 0
        union all
        select company, year, variable_key from disagreement where value is null)`.execute(trx)
  await sql`analyze summed_year`.execute(trx)
  const { rows } = await sql<{ any: boolean }>`select exists (select from disagreement) as any`.execute(trx)
  // Joined with what is judged alone.
  if (rows[0]?.any === true) await sql`analyze sent_input (company, year, month, field_id)`.execute(trx)
  await sql`
    create temporary table judged_input on commit drop as
    with shown as (
      select s.row_id, s.field_id, string_agg(distinct t.value, ' / ' order by t.value) as stored,
             bool_or(btrim(t.value) = btrim(s.value) or numeric_reading(btrim(t.value)) = numeric_reading(btrim(s.value))) as alike
      from disagreement s join stored_input t on ${sameKey}
      group by s.row_id, s.field_id
    ),
    siblings as (
      select s.row_id, s.field_id, bool_or(not other.settled) as unsettled,
             bool_or(other.settled and wrong.row_id is null) as right_for_another
      from disagreement s
      join sent_input other on other.company = s.company and other.year = s.year and other.month = s.month
        and other.field_id = s.field_id and other.row_id <> s.row_id
      left join disagreement wrong on wrong.row_id = other.row_id and wrong.field_id = other.field_id
      group by s.row_id, s.field_id
    ),
    ranked as (
      select s.*, shown.stored, coalesce(shown.alike, false) as alike, coalesce(siblings.unsettled, false) as unsettled,
             coalesce(siblings.right_for_another, false) as right_for_another,
             summed_year.company is not null as summed,
             row_number() over (
               partition by s.company, s.year, s.month, s.field_id
                 order by row.accepted_at desc, s.row_id desc) as latest
      from disagreement s
      join acceptance row using (row_id)
      left join shown using (row_id, field_id)
      left join siblings using (row_id, field_id)
      left join summed_year on summed_year.company = s.company and summed_year.year = s.year
        and summed_year.month = s.month and summed_year.variable_key = s.variable_key
    )
    select s.*,
      case
        when alike then 'written_differently'
        when right_for_another or (value is null and summed) then 'equal'
        when unsettled or latest > 1 or (stored is null and ${selective}::boolean) then 'unjudged'
        when stored is null then 'absent'
        else 'different'
      end as verdict
    from ranked s`.execute(trx)
  // A value of the year that nobody sent, while its months were, is the sum that the service makes by itself.
  await sql`
    create temporary table foreign_input on commit drop as
    select s.company, s.year, s.month, s.variable_key, string_agg(distinct s.value, ' / ' order by s.value) as stored,
           s.variable_key = any(array(select distinct variable_key from sent_input where variable_key is not null))
             as ours
    from unsent_input s
    where not exists (select from summed_year t where ${sameKey})
    group by s.company, s.year, s.month, s.variable_key`.execute(trx)
}

const sameKey = sql<boolean>`t.company = s.company and t.year = s.year and t.month = s.month
  and t.variable_key = s.variable_key`
