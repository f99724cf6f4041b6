import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Notes what each staged company was read from, once it is merged and marked as seen. Where what stands is not just
 * what those bytes say (something was left out, was not renewed, or came from another page), nothing is noted: the
 * company is read again. Of one that could not be read the note goes, so that it is read again when it comes as it was
 * before.
 */
export async function keepContents(trx: Transaction<Schema>, submissionId: number, listingKey: number): Promise<void> {
  await sql`
    update company c
    set content_hash = s.content_hash, content_bytes = s.content_bytes, calculators = s.calculators, values = s.values,
      listing_key = case when s.content_hash is not null then ${listingKey}::integer end
    from (
      select s.company_key, s.readable, s.content_bytes, s.calculators, s.values,
        case when z.whole and z.pages = 1 and s.complete and not exists (
          select from staged_left_out l where l.company_id = s.company_id
        ) and not exists (
          select from unrenewed_part u where u.company_key = s.company_key
        ) then s.content_hash end as content_hash
      from staged_company s
      join search_seen_company z on z.submission_id = ${submissionId} and z.company_key = s.company_key
    ) s
    where s.readable and c.company_key = s.company_key and c.content_hash is distinct from s.content_hash`.execute(trx)
  await sql`
    update company c set content_hash = null
    from staged_company s
    where not s.readable and c.company_key = s.company_key and c.content_hash is not null`.execute(trx)
}
