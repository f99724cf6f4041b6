import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/** Hosts change seldom: the pages of a few searches name all of them. */
const newest = 200

/** Addresses of the result files that searches listed last. They contain credentials: only their hosts may be told. */
export async function newestPageAddresses(db: Database): Promise<string[]> {
  const { rows } = await sql<{ url: string }>`
    select url from search_page order by page_id desc limit ${newest}`.execute(db)
  return rows.map(({ url }) => url)
}
