import { type Kysely, sql } from 'kysely'

/** Custom properties are found whatever the spelling of their ids, as variables are. In each destination's schema. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_tables
    where tablename = 'custom_property'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) {
    // Not unique: pages before may have brought two spellings of one.
    await sql`
      create index custom_property_spelling on ${sql.id(name, 'custom_property')} (lower(property_id))`.execute(db)
  }
}
