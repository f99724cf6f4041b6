import { sql } from 'kysely'
import type { Database } from './database.ts'

/** The statement's own session reads too. */
const workers = 2

/**
 * Runs statements that read much and answer little in a transaction whose scans may be shared with other processes of
 * the server, for a question that a person waits for. The server keeps the last word: it starts no more of them than
 * `max_parallel_workers`. Our own server does not do so by itself, because large sorts and joins would need more shared
 * memory than a container has; a count needs little.
 */
export async function withWorkers<T>(db: Database, work: (db: Database) => Promise<T>): Promise<T> {
  return await db.transaction().execute(async (trx) => {
    await sql`select set_config('max_parallel_workers_per_gather', ${String(workers)}, true)`.execute(trx)
    return await work(trx)
  })
}
