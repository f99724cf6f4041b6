import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Brings the claimed companies up to the page, after everything of theirs: one that differs in anything is written
 * once, and `changed_at` moves with it. A tombstone is lifted.
 */
export async function updateCompanies(trx: Transaction<Schema>): Promise<void> {
  await sql`
    update company c
    set name = coalesce(s.name, c.name), changed_at = statement_timestamp(), removed_at = null
    from staged_company s
    where s.readable and c.company_key = s.company_key
      and not exists (select from fresh_company f where f.company_key = c.company_key)
      and (
        (c.name, c.removed_at) is distinct from (coalesce(s.name, c.name), null::timestamptz)
        or exists (select from touched_company t where t.company_key = c.company_key)
      )`.execute(trx)
  // The former companies of calculators that moved: not on this page, or not to be read on it.
  await sql`
    update company c set changed_at = statement_timestamp(), content_hash = null
    where exists (select from touched_company t where t.company_key = c.company_key)
      and not exists (select from staged_company s where s.company_key = c.company_key and s.readable)`.execute(trx)
}
