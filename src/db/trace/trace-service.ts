import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { type Listed, listed } from '../listed.ts'
import type { ActionVerb } from '../tables/action.ts'

export type TracedCompany = {
  company_id: string
  mapped_at: Date
  mapped_by_submission: number
  /** As the last search gave it; null while no page has had the company. */
  name: string | null
  changed_at: Date | null
  removed_at: Date | null
  calculators: number
  removed_calculators: number
  newest_calculator_change: Date | null
  /** When the last search that was loaded ended. */
  searched_at: Date | null
}

/** Which company a hotel is at the service, and what searches brought back of it; null while it is not mapped. */
export async function traceCompany(db: Database, partnerId: string): Promise<TracedCompany | null> {
  const { rows } = await sql<TracedCompany>`
    select mapping.company_id, mapped_at, mapping.submission_id as mapped_by_submission, companies.name,
           companies.changed_at, companies.removed_at,
           (select count(*) from calculators where calculators.company_id = mapping.company_id and removed_at is null)
             as calculators,
           (select count(*) from calculators where calculators.company_id = mapping.company_id
             and removed_at is not null)
             as removed_calculators,
           (select max(changed_at) from calculators where calculators.company_id = mapping.company_id)
             as newest_calculator_change,
           (select max(loaded_at) from search_page join submission using (submission_id) join run using (run_id)
            where search_page.state = 'loaded' and kind = 'calculators_search'
              and run.destination_id = destination_in_use()) as searched_at
    from mapping
    left join companies on companies.company_id = mapping.company_id
    where mapping.partner_id = ${partnerId}`.execute(db)
  return rows[0] ?? null
}

/** The hotels that are mapped to a company, by the partner's ids. @param limit null: all. */
export async function hotelsOf(db: Database, companyId: string, limit: number | null = null): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    select partner_id from mapping where company_id = ${companyId}::uuid order by partner_id collate "C"
    limit ${limit}`.execute(db)
  return rows.map(({ partner_id }) => partner_id)
}

export type TracedAction = {
  verb: ActionVerb
  acted_by: string
  acted_at: Date
  submission_id: number | null
  correlation_id: string | null
  asked: Record<string, string>
  result: string | null
}

/** What people did about a hotel's submissions, or about the hotel by name, oldest first. @param limit null: all. */
export async function traceActions(
  db: Database,
  partnerId: string,
  limit: number | null,
): Promise<Listed<TracedAction>> {
  const { rows } = await sql<TracedAction & { found: number }>`
    select verb, acted_by, acted_at, submission_id, correlation_id, asked, result, count(*) over () as found
    from action
    where asked ->> 'partnerId' = ${partnerId}
       or action_id in (select retry_action from ledger where partner_id = ${partnerId})
       or submission_id in (
         select submission_row.submission_id from source_row join submission_row using (row_id)
         where partner_id = ${partnerId})
    order by action_id desc
    limit ${limit}`.execute(db)
  return listed(rows.toReversed())
}

/** Ids that somebody may have meant by one that is not there, and, if none is near it, some that are. */
export async function likePartnerIds(db: Database, text: string): Promise<{ near: string[]; examples: string[] }> {
  const { rows: near } = await sql<{ partner_id: string }>`
    select distinct partner_id from source_row where lower(partner_id) = lower(${text.trim()})
    order by 1 limit 5`.execute(db)
  const { rows: examples } = await sql<{ partner_id: string }>`
    select distinct partner_id from (select partner_id from source_row order by row_id limit 100) first_read
    order by 1 limit 3`.execute(db)
  return { near: near.map(({ partner_id }) => partner_id), examples: examples.map(({ partner_id }) => partner_id) }
}
