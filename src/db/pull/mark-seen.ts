import { sql, type Transaction } from 'kysely'
import type { Schema } from '../tables/schema.ts'

/**
 * Notes what the page has shown of the search. Where a company could not be read, or one of its calculators not be
 * identified, everything that is known of it counts as seen: nothing there is proven absent.
 */
export async function markSeen(trx: Transaction<Schema>, submissionId: number): Promise<void> {
  await sql`
    insert into search_seen_company (submission_id, company_key)
    select ${submissionId}::bigint, company_key from staged_company where company_key is not null
    on conflict do nothing`.execute(trx)
  await sql`
    insert into search_seen_calculator (submission_id, calculator_key)
    select ${submissionId}::bigint, calculator_key from staged_calculator where calculator_key is not null
    union
    select ${submissionId}::bigint, k.calculator_key
    from staged_company c join calculator k using (company_key)
    where k.removed_at is null and not (c.readable and c.complete)
    on conflict do nothing`.execute(trx)
}
