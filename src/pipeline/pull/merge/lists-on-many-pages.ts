import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { otherSpellings } from './name-spelling.ts'
import { markAgain } from './unrenewed-parts.ts'

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
export async function keepForOtherPages(trx: Transaction<Schema>, submissionId: number): Promise<void> {
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
