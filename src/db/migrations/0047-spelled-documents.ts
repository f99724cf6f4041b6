import { type Kysely, sql } from 'kysely'

/**
 * UUIDs in the ids of documents are in small letters, as pages are read from now on. Of documents that stood under
 * several spellings one stays: that which stands, or changed last, seen since any of them was. In each destination's
 * schema.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_tables
    where tablename = 'document'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await spell(db, name)
}

async function spell(db: Kysely<unknown>, schema: string): Promise<void> {
  const documents = sql.id(schema, 'document')
  const seen = sql.id(schema, 'search_seen_document')
  await sql`
    create temporary table spelled_document on commit drop as
    with lowered as (
      select search, list, document_key, (
          select string_agg(
            case when part ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then lower(part) else part end,
            '/' order by place
          )
          from unnest(string_to_array(document_id, '/')) with ordinality as parts (part, place)
        ) collate "C" as spelled
      from ${documents}
      where document_id ~ '[A-F]' and document_id ~* '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
    ), alike as (
      select l.search, l.list, l.spelled, l.document_key from lowered l
      union
      select l.search, l.list, l.spelled, d.document_key
      from lowered l
      join ${documents} d on d.search = l.search and d.list = l.list and d.document_id = l.spelled
    )
    select document_key, a.spelled,
      first_value(document_key) over (
        alike order by d.removed_at is not null, d.changed_at desc, document_key desc
      ) as kept_key,
      min(d.first_seen_at) over alike as first_seen_at
    from alike a join ${documents} d using (document_key)
    window alike as (partition by a.search, a.list, a.spelled)`.execute(db)
  await sql`
    insert into ${seen} (submission_id, document_key, page_ordinal)
    select z.submission_id, s.kept_key, min(z.page_ordinal)
    from spelled_document s join ${seen} z using (document_key)
    where s.document_key <> s.kept_key
    group by 1, 2
    on conflict do nothing`.execute(db)
  await sql`
    delete from ${seen} z using spelled_document s
    where s.document_key <> s.kept_key and z.document_key = s.document_key`.execute(db)
  await sql`
    delete from ${documents} d using spelled_document s
    where s.document_key <> s.kept_key and d.document_key = s.document_key`.execute(db)
  await sql`
    update ${documents} d set document_id = s.spelled, first_seen_at = s.first_seen_at
    from spelled_document s
    where s.document_key = s.kept_key and d.document_key = s.document_key`.execute(db)
  await sql`drop table spelled_document`.execute(db)
}
