import { sql } from 'kysely'
import type { Database } from '../database.ts'

/**
 * How many submissions of a kind carry rows in a run: planned, in flight, or ended and not yet settled. Those that are
 * overdue take no other's place: a few of them would keep a kind from being sent for ever.
 */
export async function unfinishedOfKind(db: Database, runId: number, kind: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from submission
    where run_id = ${runId} and kind = ${kind}
      and state in ('planned', 'sending', 'accepted', 'terminal', 'uncertain') and overdue_since is null`.execute(db)
  return rows[0]?.count ?? 0
}
