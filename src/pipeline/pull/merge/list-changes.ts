import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { ValueChangesView } from '../../../db/tables/history.ts'

/** Which changes of values a person asks about; what is left out does not matter. */
export type ChangeFilter = { runId?: number; since?: Date; partnerId?: string }

export type ListedChange = ValueChangesView & { partner_id: string | null; company_name: string | null }

/** Recorded changes of values with the hotel that they concern, the newest first. */
export async function listChanges(db: Database, filter: ChangeFilter, limit: number): Promise<ListedChange[]> {
  const { rows } = await sql<ListedChange>`
    select v.*, o.partner_id, o.name as company_name
    from value_changes v join companies o using (company_id)
    where ${asked(filter)}
    order by v.change_id desc
    limit ${limit}`.execute(db)
  return rows
}

export type ChangeCounts = { added: number; changed: number; removed: number; companies: number }

/** How many there are, of which kind, and of how many companies. */
export async function countChanges(db: Database, filter: ChangeFilter): Promise<ChangeCounts> {
  const { rows } = await sql<ChangeCounts>`
    select count(*) filter (where kind = 'added') as added, count(*) filter (where kind = 'changed') as changed,
      count(*) filter (where kind = 'removed') as removed, count(distinct company_id) as companies
    from value_changes v where ${asked(filter)}`.execute(db)
  return rows[0] ?? { added: 0, changed: 0, removed: 0, companies: 0 }
}

function asked({ runId, since, partnerId }: ChangeFilter) {
  const conditions = [sql<boolean>`true`]
  if (runId !== undefined) conditions.push(sql`v.run_id = ${runId}`)
  if (since !== undefined) conditions.push(sql`v.changed_at >= ${since}`)
  if (partnerId !== undefined) {
    conditions.push(sql`v.company_id = (select company_id from mapping where mapping.partner_id = ${partnerId})`)
  }
  return sql.join(conditions, sql` and `)
}

/**
 * The newest run whose calculator search has loaded a page, and whether that recorded changes; null before the first.
 */
export async function lastSearchedRun(
  db: Database,
  searchKind: string,
): Promise<{ run_id: number; history: boolean } | null> {
  const { rows } = await sql<{ run_id: number; history: boolean }>`
    select run_id, history
    from submission
    where kind = ${searchKind} and exists (
      select from search_page p where p.submission_id = submission.submission_id and p.state = 'loaded'
    )
    order by submission_id desc
    limit 1`.execute(db)
  return rows[0] ?? null
}
