import { type Kysely, sql } from 'kysely'

/**
 * When a page last showed again what was gone: the end of that search counts it among what is new, not among what
 * stood. In each destination's schema.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string; table: string }>`
    select schemaname as schema, tablename as table from pg_tables
    where tablename in ('company', 'calculator', 'document')
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { schema, table } of rows) {
    await sql`alter table ${sql.id(schema, table)} add column returned_at timestamptz`.execute(db)
    await sql`comment on column ${sql.id(schema, table, 'returned_at')} is
      'When a page last showed it while it had a tombstone; null: never'`.execute(db)
  }
}
