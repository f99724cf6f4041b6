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
