import { type Kysely, sql } from 'kysely'

/** By which query each stream was last read. Of streams that were read before nobody can say. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table stream_reading add column query_digest text`.execute(db)
}
