import { type Kysely, sql } from 'kysely'

/** Since when answers to a request are lost is another time than since when calls about it fail. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table submission add column answers_lost_since timestamptz`.execute(db)
  await sql`comment on column submission.answers_lost_since is
    'Since when every answer to its POST was lost; null while none is, or once one came'`.execute(db)
  await sql`
    update submission set answers_lost_since = failing_since, failing_since = case when failures > 0 then failing_since end
    where state = 'uncertain'`.execute(db)
}
