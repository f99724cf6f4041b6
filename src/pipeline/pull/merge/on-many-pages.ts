import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { otherSpellings } from './name-spelling.ts'
import { markAgain } from './unrenewed-parts.ts'
import { recordChanges } from './value-history.ts'

/**
 * Brings back the lists of property values that another page of the same search has removed whole, of companies that
 * are on this page too: it may give them, or hold them where nobody can read them. Each is marked as one that no page
 * has given so far, so that the page is compared with what stood, as if it had come first, and the end of a search
 * that proves absence removes what no page gives. Before the page's property values are merged.
 */
export async function bringBackLists(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    with back as (
      delete from removed_property r using staged_company s
      where s.seen and r.company_key = s.company_key and r.submission_id = ${submissionId}
        and not exists (
          select from company_property p
          where p.company_key = r.company_key and (
            p.property_key = r.property_key
            or p.property_key in (${otherSpellings('property', sql`r.property_key`)})
          )
        )
      returning r.*
    ), stored as (
      insert into company_property (company_key, property_key, ordinal, value)
      select distinct on (company_key, property_key, ordinal) company_key, property_key, ordinal, value
      from back order by company_key, property_key, ordinal, removal_id desc
      returning company_key, property_key, ordinal
    ), touched as (
      insert into touched_company select distinct company_key from stored
    )
    insert into unrenewed_part (company_key, part, property_key, ordinal, reason, withheld, submission_id)
    select company_key, 'property', property_key, ordinal, 'on_many_pages', false, ${submissionId}::bigint from stored
    ${markAgain}`.execute(trx)
}

/**
 * Of a company that several pages contain, in this search or in the last, a page that gives nothing of a list removes
 * nothing of it: another page may give it, or may have had it where nobody could read it. Such a list is noted as
 * `elsewhere`: what the page shows is not judged by it. The end of a search that proves absence judges and removes what
 * stays marked as `on_many_pages`.
 */
export async function keepListsForOtherPages(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    update absent_property a
    set elsewhere = true, reason = coalesce((
      select u.reason from unrenewed_part u
      where u.company_key = a.company_key and u.part = 'company' and u.submission_id = ${submissionId}
    ), 'on_many_pages')
    from staged_company c
    where a.reason is null and c.company_key = a.company_key and (c.on_many_pages or c.seen)
      and not exists (
        select from merge_property m
        where m.company_key = a.company_key and (
          m.property_key = a.property_key
          or m.property_key in (select s.given_key from respelled_property s where s.property_key = a.property_key)
        )
      )`.execute(trx)
}

/**
 * The same of the values of a calculator that a page shows without them, unless it gives them under another spelling of
 * their variables: they are `elsewhere` in value_difference.
 */
export async function keepValuesForOtherPages(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  const shown = sql`(
    select true from search_seen_calculator z
    where z.submission_id = ${submissionId} and z.calculator_key = k.calculator_key
  )`
  await sql`
    update value_difference d
    set kind = 'unrenewed', elsewhere = true,
      reason = case when not k.given and ${shown} then 'unidentified_calculators' else ${whyElsewhere(submissionId)} end
    from staged_calculator k join staged_company c using (company_ordinal)
    where d.kind = 'removed' and k.calculator_key = d.calculator_key and (c.on_many_pages or c.seen)
      and not exists (
        select from (
          select m.calculator_key, m.direction, gone.variable_key
          from (select distinct variable_key from value_difference where kind = 'removed') gone
          cross join lateral (${otherSpellings('variable', sql`gone.variable_key`)}) spelled (given_key)
          join merge_value m on m.variable_key = spelled.given_key
        ) respelled
        where respelled.calculator_key = d.calculator_key and respelled.direction = d.direction
          and respelled.variable_key = d.variable_key
      )`.execute(trx)
}

/**
 * Brings back the values that another page of the same search has removed of calculators that stand, and marks them, as
 * `bringBackLists` does; what other pages have so marked may be on this one too, where nobody can read it. Before the
 * page's values are merged.
 * @returns how many came back.
 */
export async function bringBackValues(trx: Transaction<Schema>, submissionId: number): Promise<number> {
  const { rows } = await sql<{ rows: number }>`
    with back as (
      delete from removed_value r using staged_company c, calculator k
      where c.seen and r.company_key = c.company_key and r.submission_id = ${submissionId}
        and k.company_key = r.company_key and k.calculator_key = r.calculator_key and k.removed_at is null
        and not exists (
          select from calculator_value v
          where v.company_key = r.company_key and v.calculator_key = r.calculator_key and v.direction = r.direction
            and (
              v.variable_key = r.variable_key or v.variable_key in (${otherSpellings('variable', sql`r.variable_key`)})
            )
        )
      returning r.*, ${whyElsewhere(submissionId)} as reason
    ), added as (
      select distinct on (company_key, calculator_key, direction, variable_key)
        company_key, calculator_key, direction, variable_key, null::text as before, value as after, reason
      from back order by company_key, calculator_key, direction, variable_key, removal_id desc
    ), stored as (
      insert into calculator_value (company_key, calculator_key, direction, variable_key, value)
      select company_key, calculator_key, direction, variable_key, after from added
    ), marked as (
      insert into unrenewed_part
        (company_key, part, calculator_key, direction, variable_key, reason, withheld, submission_id)
      select company_key, 'value', calculator_key, direction, variable_key, reason, false, ${submissionId}::bigint
      from added
      ${markAgain}
    ), recorded as (${recordChanges('added', submissionId)}), touched as (
      insert into touched_company select distinct company_key from added
    ), changed as (
      update calculator k set changed_at = statement_timestamp()
      where calculator_key in (select calculator_key from added)
    )
    select count(*) as rows from added`.execute(trx)
  await sql`
    update unrenewed_part u set reason = 'unidentified_calculators'
    from (
      select company_key, null::integer as calculator_key from staged_company
      where seen and not (readable and complete)
      union
      select owner_key, calculator_key from staged_calculator where given and not readable
    ) doubtful
    where u.company_key = doubtful.company_key and u.part = 'value'
      and (doubtful.calculator_key is null or u.calculator_key = doubtful.calculator_key)
      and u.reason = 'on_many_pages' and u.submission_id = ${submissionId}`.execute(trx)
  return Number(rows[0]?.rows ?? 0)
}

/**
 * Why a value stays that another page of the staged company `c` may give: no page has given it, or it may be where
 * nobody can read it, on this page or on one before.
 */
function whyElsewhere(submissionId: number): RawBuilder<string> {
  return sql<string>`
    case when c.readable and c.complete and coalesce((
      select z.given or not z.whole from search_seen_company z
      where z.submission_id = ${submissionId} and z.company_key = c.company_key
    ), true) then 'on_many_pages' else 'unidentified_calculators' end`
}
