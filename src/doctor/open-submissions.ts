import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** Requests whose fate is open longer than it should be. */
export type OpenSubmissions = { uncertain: number; overdue: number; first: number | null }

export async function countOpen(db: Database): Promise<OpenSubmissions> {
  const { rows } = await sql<OpenSubmissions>`
    select count(*) filter (where state = 'uncertain') as uncertain,
           count(*) filter (where state <> 'uncertain') as overdue, min(submission_id) as first
    from submission
    where state = 'uncertain'
       or (overdue_since is not null and state in ('planned', 'sending', 'accepted', 'terminal'))`.execute(db)
  return rows[0] ?? { uncertain: 0, overdue: 0, first: null }
}
