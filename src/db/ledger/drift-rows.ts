import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { shownContent, type Texts } from './shown-texts.ts'

/** A row that the service has, or may have, where the partner wants it no longer. */
export type DriftRow = {
  stream: string
  partner_id: string
  row_key: string
  content: Record<string, unknown>
  accepted_at: Date | null
  outcome: string | null
  gone_since: Date
  /** `gone`: the partner has it no longer; `remapped`: its hotel is another company now. */
  why: 'gone' | 'remapped'
  /** Which company holds it; null where its hotel is not mapped. */
  company_id: string | null
}

/** What is at the service and no longer at the partner, or at a company that its hotel was, newest first. */
export async function driftRows(db: Database, stream: string | null, limit: number, texts: Texts): Promise<DriftRow[]> {
  const { rows } = await sql<DriftRow>`
    select stream, partner_id, row_key, ${shownContent(sql`content`, texts)} as content, accepted_at, outcome,
      gone_since, why, company_id
    from drift
    where ${stream}::text is null or stream = ${stream}
    order by gone_since desc, stream, row_key
    limit ${limit}`.execute(db)
  return rows
}
