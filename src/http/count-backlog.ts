import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** How long rows that wait are counted at most: of a million of them it takes a minute. Milliseconds. */
const mostMs = 600_000

const turns = new WeakMap<Database, Promise<unknown>>()

/**
 * Counts rows that wait for something, which takes as long as there are many of them: longer than a query of a request
 * may take. One count is under way at a time, so that other requests have connections.
 */
export async function countBacklog<T>(db: Database, count: (own: Database) => Promise<T>): Promise<T> {
  const before = turns.get(db) ?? Promise.resolve()
  const counting = before.then(() =>
    db.connection().execute(async (own) => {
      await sql`select set_config('statement_timeout', ${String(mostMs)}, false)`.execute(own)
      try {
        return await count(own)
      } finally {
        await sql`reset statement_timeout`.execute(own)
      }
    }),
  )
  turns.set(
    db,
    counting.catch(() => {}),
  )
  return await counting
}
