import { type Kysely, sql } from 'kysely'

/** By which lookups each stream was last read: rows that were read before keep the ids of then until they are read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table stream_reading add column lookups jsonb`.execute(db)
  await sql`comment on column stream_reading.lookups is
    'The lookups by which the stream was read, by column; null of a reading before there were any'`.execute(db)
}
