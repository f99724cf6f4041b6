import { sql, type Transaction } from 'kysely'
import { schemaName } from '../../db/migrate-to-latest.ts'
import type { Schema } from '../../db/tables/database-schema.ts'

/**
 * Makes tables and views in the schema in use that are like those in another, and empty: columns, defaults, keys,
 * indexes, foreign keys, storage, comments, and who may read. Read from the catalogue, so that whatever a migration
 * adds is copied.
 *
 * @param relations each after those that it reads.
 */
export async function copyEmpty(trx: Transaction<Schema>, relations: readonly Relation[], from: string): Promise<void> {
  const tables = relations.filter(({ view }) => !view).map(({ name }) => name)
  const views = relations.filter(({ view }) => view).map(({ name }) => name)
  // Names are written without their schema where they are found in the search path: so the texts fit either schema.
  await searchPath(trx, [from, schemaName])
  const statements = [
    ...(await constraints(trx, from, tables)),
    ...(await plainIndexes(trx, from, tables)),
    ...(await triggers(trx, from, tables)),
    ...(await storage(trx, from, tables)),
    ...(await viewDefinitions(trx, from, views)),
    ...(await comments(trx, from, tables, views)),
    ...(await grants(trx, from)),
  ]
  await searchPath(trx, [schemaName])
  for (const name of tables) {
    await sql`
      create table ${sql.id(name)} (like ${sql.id(from, name)}
        including defaults including identity including generated including constraints including storage
        including compression including statistics including comments)`.execute(trx)
  }
  for (const statement of statements) await sql.raw(statement).execute(trx)
}

async function searchPath(trx: Transaction<Schema>, schemas: readonly string[]): Promise<void> {
  await sql`select set_config('search_path', ${schemas.join(', ')}, true)`.execute(trx)
}

type Text = { text: string }

/** Keys first, then the foreign keys that may refer to them. Checks come with the columns. */
async function constraints(trx: Transaction<Schema>, from: string, tables: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Text>`
    select format('alter table %I add constraint %I %s', relname, conname, pg_get_constraintdef(c.oid)) as text
    from pg_constraint c join pg_class on pg_class.oid = conrelid
    where relnamespace = ${from}::regnamespace and relname = any(${tables}::text[]) and contype in ('p', 'u', 'x', 'f')
    order by contype = 'f', relname, conname`.execute(trx)
  return texts(rows)
}

async function plainIndexes(trx: Transaction<Schema>, from: string, tables: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Text>`
    select replace(pg_get_indexdef(indexrelid), format(' ON %I.%I ', ${from}::text, relname),
      format(' ON %I ', relname)) as text
    from pg_index join pg_class on pg_class.oid = indrelid
    where relnamespace = ${from}::regnamespace and relname = any(${tables}::text[])
      and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
    order by indexrelid`.execute(trx)
  return texts(rows)
}

async function triggers(trx: Transaction<Schema>, from: string, tables: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Text>`
    select replace(pg_get_triggerdef(t.oid), format(' ON %I.%I ', ${from}::text, relname), format(' ON %I ', relname))
      as text
    from pg_trigger t join pg_class on pg_class.oid = tgrelid
    where relnamespace = ${from}::regnamespace and relname = any(${tables}::text[]) and not tgisinternal
    order by t.oid`.execute(trx)
  return texts(rows)
}

async function storage(trx: Transaction<Schema>, from: string, tables: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Text>`
    select format('alter table %I set (%s)', relname, array_to_string(reloptions, ', ')) as text
    from pg_class
    where relnamespace = ${from}::regnamespace and relname = any(${tables}::text[]) and reloptions is not null`.execute(
    trx,
  )
  return texts(rows)
}

async function viewDefinitions(trx: Transaction<Schema>, from: string, views: readonly string[]): Promise<string[]> {
  const { rows } = await sql<Text>`
    select format('create view %I as %s', relname, pg_get_viewdef(pg_class.oid)) as text
    from pg_class
    where relnamespace = ${from}::regnamespace and relkind = 'v'
    order by array_position(${views}::text[], relname::text)`.execute(trx)
  return texts(rows)
}

/** Comments of columns of tables come with the columns. */
async function comments(
  trx: Transaction<Schema>,
  from: string,
  tables: readonly string[],
  views: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<Text>`
    select case when objsubid = 0 then format('comment on %s %I is %L', case relkind when 'v' then 'view'
      else 'table' end, relname, description)
                else format('comment on column %I.%I is %L', relname, attname, description) end as text
    from pg_description
    join pg_class on pg_class.oid = objoid and classoid = 'pg_class'::regclass
    left join pg_attribute on attrelid = objoid and attnum = objsubid and objsubid > 0
    where relnamespace = ${from}::regnamespace
      and (relname = any(${views}::text[]) or (objsubid = 0 and relname = any(${tables}::text[])))`.execute(trx)
  return texts(rows)
}

async function grants(trx: Transaction<Schema>, from: string): Promise<string[]> {
  const { rows } = await sql<Text>`
    select format('grant %s on %I to %s', granted.privilege_type, relname,
                  case when granted.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(granted.grantee)) end)
                    as text
    from pg_class, aclexplode(relacl) granted
    where relnamespace = ${from}::regnamespace and relkind in ('r', 'p', 'v') and granted.grantee <> relowner`.execute(
    trx,
  )
  return texts(rows)
}

function texts(rows: readonly Text[]): string[] {
  return rows.map(({ text }) => text)
}

/** A table or view of the destination in use. */
export type Relation = { name: string; view: boolean }

/**
 * The tables of the destination in use, and the views that read any of them, each after those that it reads.
 * @param tables those of them that are meant; all that are not shared if it is left out.
 */
export async function movingRelations(trx: Transaction<Schema>, tables?: readonly string[]): Promise<Relation[]> {
  const { rows } = await sql<Relation>`
    with recursive moving as (
      select oid, relname, relkind, 0 as depth from pg_class
      where relnamespace = ${schemaName}::regnamespace and relkind in ('r', 'p')
        and relname <> all(${sharedTables}::text[]) and relname not like 'kysely\\_%'
        and (${tables ?? null}::text[] is null or relname = any(${tables ?? null}::text[]))
      union
      select reading.oid, reading.relname, reading.relkind, moving.depth + 1
      from moving
      join pg_depend on pg_depend.refobjid = moving.oid and pg_depend.refclassid = 'pg_class'::regclass
        and pg_depend.classid = 'pg_rewrite'::regclass
      join pg_rewrite on pg_rewrite.oid = pg_depend.objid
      join pg_class reading on reading.oid = pg_rewrite.ev_class and reading.oid <> moving.oid
      where reading.relkind = 'v' and reading.relnamespace = ${schemaName}::regnamespace
    )
    select relname as name, relkind = 'v' as view from moving group by relname, relkind
      order by max(depth), relname`.execute(trx)
  return rows
}

/**
 * Tables that belong to no destination: what the partner has, what was done, and the queue of the run at work. Every
 * other table of the schema says what one destination took or showed, and moves out of the way when another is put to
 * use. A test compares this list with the schema, so that a new table cannot be forgotten.
 */
export const sharedTables: readonly string[] = [
  'action',
  'candidate',
  'candidate_row',
  'destination',
  'destination_key',
  'ended_submission',
  'guard_plan',
  'judging_basis',
  'kind_sweep',
  'job_pause',
  'job_request',
  'job_schedule',
  'job_waiting',
  'notification',
  'notification_mark',
  'null_cursor_row',
  'pilot',
  'pilot_hotel',
  'row_change',
  'row_finding',
  'run',
  'run_step',
  'run_stream',
  'run_tally',
  'search_page',
  'service_key',
  'snapshot_bucket',
  'snapshot_line',
  'source_row',
  'staged_outcome',
  'stream_reading',
  'stream_snapshot',
  'stream_watermark',
  'submission',
  'submission_payload',
  'submission_release',
  'submission_row',
  'suspended_hotel',
  'webhook_event',
  'webhook_receiver',
  'webhook_refusal',
]

/**
 * The tables and views that each destination has of its own, as far as they are ours: without one of them runs fail.
 * What somebody else made in the schema moves with them, and none of it need wait with a destination. A test compares
 * this list with the schema.
 */
export const ownRelations: readonly string[] = [
  'acceptance',
  'batch_size',
  'calculator',
  'calculator_value',
  'calculator_value_change',
  'calculator_value_history',
  'calculator_values',
  'calculator_variable',
  'calculator_variables',
  'calculators',
  'companies',
  'company',
  'company_properties',
  'company_property',
  'complete_search',
  'custom_property',
  'differences',
  'document',
  'documents',
  'drift',
  'held_property',
  'history_start',
  'input_comparison',
  'input_difference',
  'input_differences',
  'ledger',
  'left_behind',
  'mapping',
  'mapping_change',
  'mapping_changes',
  'name_change',
  'name_changes',
  'not_renewed',
  'page_listing',
  'quarantine',
  'reference_change',
  'reference_changes',
  'reference_data',
  'reference_past',
  'reference_version',
  'reference_withheld',
  'removals',
  'removed_property',
  'removed_value',
  'repair_held',
  'row_comparison',
  'row_difference',
  'search_seen_calculator',
  'search_seen_company',
  'search_seen_document',
  'unrenewed_part',
  'value_changes',
]
