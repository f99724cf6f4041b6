import { type RawBuilder, sql, type Transaction } from 'kysely'
import { ofSelectedType } from '../../../db/selected-types.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Notes what the staged page has shown of the search. A company of which nothing else stands is seen whole; otherwise
 * its calculators are noted one by one, and the end of the search judges the rest. Where a company could not be read,
 * or one of its calculators not be identified, everything that is known of it counts as seen: nothing there is proven
 * absent. How often and how far the search has shown a company by now stands in staged_company, too.
 */
export async function markSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  calculatorTypeIds: readonly string[],
): Promise<void> {
  await sql`
    with seen as (
      insert into search_seen_company (submission_id, company_key, whole)
      select ${submissionId}::bigint, s.company_key, not (s.readable and s.complete) or not exists (
        select from calculator k
        where k.company_key = s.company_key and k.removed_at is null
          and ${ofSelectedType(calculatorTypeIds)}
          and not exists (select from staged_calculator t where t.calculator_key = k.calculator_key)
      )
      from staged_company s where s.company_key is not null
      on conflict (submission_id, company_key) do update
      set pages = search_seen_company.pages + 1, whole = search_seen_company.whole or excluded.whole
      returning company_key, pages, whole
    )
    update staged_company s set seen_pages = seen.pages, seen_whole = seen.whole
    from seen where s.company_key = seen.company_key`.execute(trx)
  await sql`
    insert into search_seen_calculator (submission_id, calculator_key)
    select ${submissionId}::bigint, k.calculator_key
    from staged_calculator k
    join staged_company s using (company_ordinal)
    where k.calculator_key is not null and not s.seen_whole
    on conflict do nothing`.execute(trx)
}

/**
 * Whether the search has shown a company before: true or null. Written so that the planner looks up one row by its key.
 * It knows nothing of what the search in hand has shown so far, takes that for next to nothing, and would read all of
 * it, once for a page or once for each of its companies.
 */
export function seenBy(submissionId: number, companyKey: RawBuilder<unknown>): RawBuilder<true | null> {
  return sql<true | null>`(
    select true from search_seen_company z
    where z.submission_id = ${submissionId} and z.company_key = ${companyKey}
  )`
}

/**
 * Notes companies of which all that stands has been seen.
 * @throws a unique violation (23505) when the search has shown one of them before.
 */
export async function markWholeSeen(
  trx: Transaction<Schema>,
  submissionId: number,
  companyKeys: readonly number[],
): Promise<void> {
  if (companyKeys.length === 0) return
  await sql`
    insert into search_seen_company (submission_id, company_key, whole)
    select ${submissionId}::bigint, company_key, true from unnest(${companyKeys}::integer[]) as company_key`.execute(
    trx,
  )
}
