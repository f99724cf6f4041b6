import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** One value of one calculator of a hotel, as the service stores it. */
type HotelValue = {
  calculator_id: string
  title: string | null
  period_year: number
  period_month: number | null
  direction: 'input' | 'output'
  variable_id: string
  variable_name: string | null
  value: string
  not_renewed_since: Date | null
}

/** The values of the company that a hotel is, the newest period first. */
export async function hotelValues(db: Database, partnerId: string, limit: number): Promise<HotelValue[]> {
  const { rows } = await sql<HotelValue>`
    select v.calculator_id, k.title, v.period_year, v.period_month, v.direction, v.variable_id, v.variable_name,
      v.value,
           v.not_renewed_since
    from calculator_values v join calculators k on k.calculator_id = v.calculator_id
    where v.company_id = (select company_id from mapping where partner_id = ${partnerId}) and k.removed_at is null
    order by v.period_year desc, v.period_month desc nulls first, v.direction desc, v.variable_name, v.calculator_id
    limit ${limit}`.execute(db)
  return rows
}

/** A document of one of the searches in `pull.searches` that names a hotel's company. */
type HotelDocument = {
  search: string
  list: string
  document_id: string
  document: unknown
  first_seen_at: Date
  changed_at: Date
  removed_at: Date | null
}

/**
 * The documents of the company that a hotel is: by their id, or by the member that names it.
 * @param companyMembers what documents of the searches call the company, from the contract.
 */
export async function hotelDocuments(
  db: Database,
  partnerId: string,
  companyMembers: readonly string[],
  limit: number,
): Promise<HotelDocument[]> {
  const { rows } = await sql<HotelDocument>`
    with company as (select company_id::text from mapping where partner_id = ${partnerId})
    select search, list, document_id, document, first_seen_at, changed_at, removed_at
    from documents
    where document_id = (select company_id from company)
       or exists (select from unnest(${companyMembers}::text[]) member
                  where lower(document ->> member) = (select company_id from company))
    order by changed_at desc, search, list, document_id
    limit ${limit}`.execute(db)
  return rows
}
