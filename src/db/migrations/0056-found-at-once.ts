import { type Kysely, sql } from 'kysely'

/**
 * What people ask of one hotel's documents and of the newest changes of values is found by an index. Of a document
 * every UUID among its own members is indexed, because the contract may give the one that names the company any name.
 * In each destination's schema.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Dear to the planner, because a document is read from where long values are stored.
  await sql`
    create function uuids_of_document(document jsonb) returns uuid[]
    language sql immutable strict parallel safe cost 1000
    return array(
      select (value #>> '{}')::uuid
      from jsonb_each(case jsonb_typeof(document) when 'object' then document else '{}' end)
      where jsonb_typeof(value) = 'string'
        and value #>> '{}' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$')`.execute(db)
  await sql`comment on function uuids_of_document(jsonb) is
    'The UUIDs among the members of a document itself'`.execute(db)
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_tables
    where tablename = 'document'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) {
    await sql`
      create index document_uuids on ${sql.id(name, 'document')} using gin (uuids_of_document(document))`.execute(db)
    await sql`
      create index calculator_value_change_newest
      on ${sql.id(name, 'calculator_value_change')} (change_id)`.execute(db)
  }
}
