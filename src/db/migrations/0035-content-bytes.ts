import { type Kysely, sql } from 'kysely'

/**
 * How many bytes of its page a company was read from: where a company of that length with that hash begins, the next
 * one begins behind it, and its bytes need not be searched for their end. Null until the company is met the next time.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // A backup may have left out what waits.
  const { rows } = await sql<{ name: string }>`
    select current_schema() as name
    union all
    select schema_name from destination
    where to_regclass(quote_ident(schema_name) || '.company') is not null`.execute(db)
  for (const { name } of rows) {
    await sql`alter table ${sql.id(name, 'company')} add column content_bytes integer`.execute(db)
    await sql`comment on column ${sql.id(name, 'company', 'content_bytes')} is
      'How many bytes content_hash was made of; null where it was made before this was kept'`.execute(db)
  }
}
