import { type Kysely, sql } from 'kysely'

/** What a search asked for is a fact of the search, whatever the configuration of a process that looks at it later. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table submission add column asked jsonb`.execute(db)
  await sql`comment on column submission.asked is
    'Of a search: what it asks for, from when its body is written; calculatorTypeIds and customPropertyIds, or the body of a search for documents'`.execute(
    db,
  )
}
