import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** How long rows that wait are counted at most: of a million of them it takes a minute. Milliseconds. */
const mostMs = 600_000

const turns = new WeakMap<Database, Promise<unknown>>()

/**
 * Counts rows that wait for something, which takes as long as there are many of them: longer than a query of a request
 * may take. One count is under way at a time, so that other requests have connections.
 * @param begin called when its turn has come.
 */
export async function countBacklog<T>(
  db: Database,
  count: (own: Database) => Promise<T>,
  begin: () => void = () => {},
): Promise<T> {
  const before = turns.get(db) ?? Promise.resolve()
  const counting = before.then(() =>
    db.connection().execute(async (own) => {
      begin()
      const { rows } = await sql<{ most: string }>`select current_setting('statement_timeout') as most`.execute(own)
      const limitTo = (most: string) => sql`select set_config('statement_timeout', ${most}, false)`.execute(own)
      await limitTo(String(mostMs))
      try {
        return await count(own)
      } finally {
        // Not RESET: the pool sets its limit when it has connected, and a reset goes back to the server's.
        await limitTo(rows[0]?.most ?? '0')
      }
    }),
  )
  turns.set(
    db,
    counting.catch(() => {}),
  )
  return await counting
}
