import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { taskKey, taskSpellings } from '../../../exchange/task.ts'

/** A task that became of a request of ours: its id in the spelling that was asked for, and when the answer named it. */
export type Owner = { correlation_id: string; accepted_at: Date | null }

/** Which of these tasks are known to be of our submissions, in whatever spelling. */
export async function ownersOf(db: Database, correlationIds: readonly string[]): Promise<Owner[]> {
  // One parameter, however long the list: a statement takes 65,535. An id that Postgres cannot store is not ours.
  const ids = correlationIds.filter((id) => !id.includes('\0') && id.isWellFormed())
  if (ids.length === 0) return []
  const { rows } = await sql<Owner>`
    select correlation_id, accepted_at from submission
    where correlation_id = any(${ids.flatMap(taskSpellings)}::text[])`.execute(db)
  const known = new Map(rows.map(({ correlation_id, accepted_at }) => [taskKey(correlation_id), accepted_at]))
  return ids.flatMap((id) => {
    const accepted_at = known.get(taskKey(id))
    return accepted_at === undefined ? [] : [{ correlation_id: id, accepted_at }]
  })
}
