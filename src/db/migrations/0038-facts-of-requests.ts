import { type Kysely, sql } from 'kysely'

/**
 * What a search asked for is a fact of the search, whatever the configuration of a process that looks at it later.
 * Since when answers to a request are lost is another time than since when calls about it fail, and when the service
 * denied its task a third. A page whose fresh address was a guess proves
 * no absence.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table submission add column asked jsonb`.execute(db)
  await sql`comment on column submission.asked is
    'Of a search: what it asks for, from when its body is written; calculatorTypeIds and customPropertyIds, or the body of a search for documents'`.execute(
    db,
  )
  await sql`alter table submission add column answers_lost_since timestamptz`.execute(db)
  await sql`comment on column submission.answers_lost_since is
    'Since when every answer to its POST was lost; null while none is, or once one came'`.execute(db)
  await sql`alter table submission add column denied_at timestamptz`.execute(db)
  await sql`comment on column submission.denied_at is
    'When the service last said, and it counted, that it does not know its task'`.execute(db)
  await sql`alter table search_page add column guessed boolean not null default false`.execute(db)
  await sql`comment on column search_page.guessed is
    'Its address was renewed, and only the place in the list said that it is this page''s'`.execute(db)
  await sql`
    update submission set answers_lost_since = failing_since, failing_since = case when failures > 0 then failing_since end
    where state = 'uncertain'`.execute(db)
}
