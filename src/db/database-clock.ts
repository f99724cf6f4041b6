import { sql } from 'kysely'
import type { Database } from './database.ts'

/** A clock that is asked for again this soon is not read from the database again, in milliseconds. */
const freshMs = 1_000

/**
 * The clock of Nightferry's own database, by which all delays are reckoned: processes differ, and each may be wrong.
 * Between two readings it goes on by this process's monotonic clock, which nobody sets.
 */
type DatabaseClock = {
  now: () => Date
  /** Reads it again unless that was done a moment ago. The database's clock, too, may be set while a process runs. */
  read: () => Promise<void>
}

export async function openDatabaseClock(db: Database): Promise<DatabaseClock> {
  let offsetMs = 0
  let readAt = -Infinity
  const read = async (): Promise<void> => {
    if (performance.now() - readAt < freshMs) return
    const asked = performance.now()
    const { rows } = await sql<{ at: number }>`
      select (1000 * extract(epoch from clock_timestamp()))::float8 as at`.execute(db)
    const answered = performance.now()
    const at = rows[0]?.at
    if (at === undefined) throw new Error('the database did not say what time it is')
    offsetMs = at - (asked + answered) / 2
    readAt = answered
  }
  await read()
  return { now: () => new Date(offsetMs + performance.now()), read }
}
