import { sql } from 'kysely'

/** What a person names of what was withheld or removed; what is left out does not matter. */
export type PartFilter = { reason?: string; partnerId?: string; runId?: number; since?: Date }

/** Whether `company_key` is that of a company which a partner id is mapped to; without one, of any. */
export function ofPartner(partnerId: string | undefined) {
  if (partnerId === undefined) return sql<boolean>`true`
  return sql<boolean>`company_key in (
    select company_key from company join mapping using (company_id) where mapping.partner_id = ${partnerId}
  )`
}

/** Whether `submission_id` is a search of the run; without one, any. */
export function ofRun(runId: number | undefined) {
  if (runId === undefined) return sql<boolean>`true`
  return sql<boolean>`submission_id in (select submission_id from submission where run_id = ${runId})`
}
