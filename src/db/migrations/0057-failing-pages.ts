import { type Kysely, sql } from 'kysely'

/** Since when a page cannot be had although somebody answers for it, so that it is given up by time as calls are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table search_page add column failing_since timestamptz`.execute(db)
  await sql`comment on column search_page.failing_since is
    'Since when every attempt to load it failed over trouble that passes; null: the last one did not'`.execute(db)
}
