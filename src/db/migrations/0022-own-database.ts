import { type Kysely, sql } from 'kysely'

/** Which copy of our database a run ended in, so that the next one notices a backup that came back. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run add column own_database text`.execute(db)
  await sql`comment on column run.own_database is
    'Cluster, timeline, database and table that the run was stored in; another after a backup was restored'`.execute(db)
}
