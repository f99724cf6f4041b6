import { type Kysely, type RawBuilder, sql } from 'kysely'

/**
 * The path of a destination, by which services under one host are told apart. Under which server a run has compared the
 * service's tasks with the ledger: the next may run on a copy of the disk that was put back. And what 0040 changed, in
 * the schema of every destination: those that waited were left as they were. One of them may be in use by now, and
 * another may have been made like it, so each is looked at.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await keepPath(db)
  await keepServer(db)
  const { rows } = await sql<{ name: string }>`
    select schemaname as name from pg_tables
    where tablename = 'unrenewed_part'
      and (schemaname = current_schema() or schemaname in (select schema_name from destination))`.execute(db)
  for (const { name } of rows) await bringUp(db, name)
}

async function keepPath(db: Kysely<unknown>): Promise<void> {
  await sql`alter table destination add column path text`.execute(db)
  await sql`comment on column destination.path is
    'In front of the paths of the endpoints, empty where nothing is; null: not known, as of one from before it was kept'`.execute(
    db,
  )
  await sql`
    create or replace view destinations as
    select destination_id, name, origin, custom_identifier_id, schema_name is null as in_use,
           coalesce(schema_name, 'nightferry') as schema_name, made_at, used_since, left_at, path
    from destination`.execute(db)
  await sql`comment on column destinations.path is
    'The path of the service''s address, empty where it has none; null until a run has used it'`.execute(db)
}

async function keepServer(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run add column tasks_checked_under timestamptz`.execute(db)
  await sql`comment on column run.tasks_checked_under is
    'When the server of our database had started under which the service''s tasks were compared with the ledger; null before'`.execute(
    db,
  )
}

async function bringUp(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (...names: string[]) => sql.id(schema, ...names)
  await sql`
    alter table ${of('search_seen_company')} add column if not exists given boolean not null default false`.execute(db)
  await sql`comment on column ${of('search_seen_company', 'given')} is
    'Whether a page gave all calculators that stand of it, to be read; else each is noted by itself'`.execute(db)
  await sql`
    alter table ${of('calculator_value_change')} add column if not exists not_renewed_since timestamptz`.execute(db)
  await sql`comment on column ${of('calculator_value_change', 'not_renewed_since')} is
    'Since when no search had renewed the value that the change ends; null where the last one had'`.execute(db)
  await sql`
    create index if not exists calculator_variable_spelling
    on ${of('calculator_variable')} (lower(variable_id))`.execute(db)
  await sql`comment on table ${of('complete_search')} is
    'Searches since then that proved what is absent: what stood when one ended, is of a type that it selected, and has no mark in unrenewed_part, was seen by it'`.execute(
    db,
  )
  await replaceHistory(db, schema)
}

/** As 0040 made it. */
async function replaceHistory(db: Kysely<unknown>, schema: string): Promise<void> {
  const of = (name: string) => sql.id(schema, name)
  await sql`
    create or replace view ${of('calculator_value_history')} as
    select stood.calculator_id, stood.company_id, stood.period_year, stood.period_month, stood.direction,
      stood.variable_id, stood.variable_name, stood.value, numeric_reading(stood.value) as value_numeric,
      stood.first_seen_at, greatest(stood.first_seen_at, shown.ended_at) as last_seen_at, stood.ended_at
    from (
      select k.calculator_id, c.company_id, k.period_year, k.period_month,
        case v.direction when 'i' then 'input' else 'output' end as direction,
        n.variable_id, n.name as variable_name, v.value, k.type_id,
        coalesce(begun.changed_at, case when k.first_seen_at >= h.began_at then k.first_seen_at end) as first_seen_at,
        null::timestamptz as ended_at, null::bigint as ended_by, ${marked(schema)} as not_renewed_since
      from ${of('history_start')} h
      cross join ${of('calculator_value')} v
      join ${of('calculator')} k using (company_key, calculator_key)
      join ${of('company')} c using (company_key)
      join ${of('calculator_variable')} n using (variable_key)
      left join lateral (
        select b.changed_at from ${of('calculator_value_change')} b
        where b.company_key = v.company_key and b.calculator_key = v.calculator_key
          and b.direction = v.direction and b.variable_key = v.variable_key and b.changed_at >= h.began_at
        order by b.change_id desc limit 1
      ) begun on true
      union all
      select k.calculator_id, c.company_id, k.period_year, k.period_month,
        case v.direction when 'i' then 'input' else 'output' end,
        n.variable_id, n.name, v.before, k.type_id,
        coalesce(begun.changed_at, case when k.first_seen_at >= h.began_at then k.first_seen_at end),
        v.changed_at, v.submission_id, v.not_renewed_since
      from ${of('history_start')} h
      join ${of('calculator_value_change')} v on v.changed_at >= h.began_at and v.before is not null
      join ${of('calculator')} k using (calculator_key)
      join ${of('company')} c on c.company_key = v.company_key
      join ${of('calculator_variable')} n using (variable_key)
      left join lateral (
        select b.changed_at from ${of('calculator_value_change')} b
        where b.company_key = v.company_key and b.calculator_key = v.calculator_key
          and b.direction = v.direction and b.variable_key = v.variable_key and b.changed_at >= h.began_at
          and b.change_id < v.change_id
        order by b.change_id desc limit 1
      ) begun on true
    ) stood
    left join lateral (
      select s.ended_at from ${of('complete_search')} s
      where s.submission_id < coalesce(stood.ended_by, 9223372036854775807)
        and (cardinality(s.calculator_type_ids) = 0 or stood.type_id = any(s.calculator_type_ids))
        and (stood.not_renewed_since is null or s.ended_at < stood.not_renewed_since)
      order by s.submission_id desc limit 1
    ) shown on true`.execute(db)
}

/** Since when the value, its calculator or its company is marked, by whole keys. Mostly nothing is: asked once. */
function marked(schema: string): RawBuilder<unknown> {
  const unrenewed = sql.id(schema, 'unrenewed_part')
  return sql`
    case when exists (select from ${unrenewed}) then least(
      (select u.since from ${unrenewed} u
        where u.company_key = v.company_key and u.part = 'company' and u.calculator_key = 0 and u.direction = '-'
          and u.variable_key = 0 and u.property_key = 0 and u.ordinal = 0),
      (select u.since from ${unrenewed} u
        where u.company_key = v.company_key and u.part = 'calculator' and u.calculator_key = v.calculator_key
          and u.direction = '-' and u.variable_key = 0 and u.property_key = 0 and u.ordinal = 0),
      (select u.since from ${unrenewed} u
        where u.company_key = v.company_key and u.part = 'value' and u.calculator_key = v.calculator_key
          and u.direction = v.direction and u.variable_key = v.variable_key and u.property_key = 0 and u.ordinal = 0)
    ) end`
}
