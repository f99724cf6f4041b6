import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, createPool, type Database } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import * as standingDifferences from '../../src/db/migrations/0025-standing-differences.ts'
import { grantReading, revokeReading } from '../../src/db/readers/grant-reading.ts'
import { movingRelations, ownRelations, sharedTables } from '../../src/pipeline/destination/copy-empty.ts'
import { makeDestination, switchDestination } from '../../src/pipeline/destination/switch-destination.ts'
import { testDatabase } from '../helpers/postgres.ts'

let db: Database
let close: () => Promise<void>

beforeAll(async () => {
  const database = await testDatabase({ template: 'migrated' })
  const pool = createPool(database.url, {
    max: 2,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  db = createDatabase(pool)
  close = () => pool.end()
})
afterAll(() => close())

async function tablesOf(schema: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
    where relnamespace = ${schema}::regnamespace and relkind = 'r' and relname not like 'kysely\\_%'
    order by relname collate "C"`.execute(db)
  return rows.map(({ name }) => name)
}

/** Everything that the catalogue says of the relations of a schema, without its name. */
async function shapeOf(schema: string, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    select line from (
      select format('%s %s %s %s %s', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity) as line
      from pg_attribute join pg_class on pg_class.oid = attrelid
      where relnamespace = ${schema}::regnamespace and relkind in ('r', 'v') and relname = any(${names}::text[])
        and attnum > 0 and not attisdropped
      union all
      select format('%s %s %s', relname, conname, pg_get_constraintdef(c.oid)) from pg_constraint c
      join pg_class on pg_class.oid = conrelid
      where relnamespace = ${schema}::regnamespace and relname = any(${names}::text[])
      union all
      select format('index %s', replace(pg_get_indexdef(indexrelid), ${schema}::text || '.', '')) from pg_index
      join pg_class on pg_class.oid = indrelid
      where relnamespace = ${schema}::regnamespace and relname = any(${names}::text[])
      union all
      select format('%s %s', relname, reloptions) from pg_class
      where relnamespace = ${schema}::regnamespace and relname = any(${names}::text[]) and reloptions is not null
      union all
      select format('%s %s %s', relname, attname, description) from pg_description
      join pg_class on pg_class.oid = objoid and classoid = 'pg_class'::regclass
      left join pg_attribute on attrelid = objoid and attnum = objsubid and objsubid > 0
      where relnamespace = ${schema}::regnamespace and relname = any(${names}::text[])
    ) shape order by line collate "C"`.execute(db)
  return rows.map(({ line }) => line.replaceAll(`${schema}.`, '').replaceAll(`${schemaName}.`, ''))
}

test('every table is shared by all destinations or belongs to one, and nobody forgot which', async () => {
  const tables = await tablesOf(schemaName)
  expect(sharedTables.filter((name) => !tables.includes(name))).toEqual([])
  const moving = await db.transaction().execute((trx) => movingRelations(trx))
  expect(moving.map(({ name }) => name).toSorted()).toEqual(ownRelations)
  expect(
    moving
      .filter(({ view }) => !view)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(tables.filter((name) => !sharedTables.includes(name)))
})

test('the tables and views of a destination that was never used are like those of the one before, and empty', async () => {
  const names = (await tablesOf(schemaName)).filter((name) => !sharedTables.includes(name))
  const views = ['companies', 'calculator_values', 'documents', 'drift', 'ledger', 'differences', 'not_renewed']
  await sql`insert into company (company_id, name) values (gen_random_uuid(), 'one')`.execute(db)
  await sql`
    insert into source_row (stream, partner_id, row_key, content, desired_hash)
    values ('properties', 'H-1', 'H-1', '{}', '\\x01')`.execute(db)
  const before = await shapeOf(schemaName, [...names, ...views])
  await db.transaction().execute(async (trx) => {
    await switchDestination(trx, await makeDestination(trx, 'second'))
  })
  expect(await shapeOf(schemaName, [...names, ...views])).toEqual(before)
  expect(await shapeOf('nightferry_destination_1', [...names, ...views])).toEqual(before)
  const { rows } = await sql<{ here: number; there: number; wanted: number }>`
    select (select count(*)::integer from companies) as here,
           (select count(*)::integer from nightferry_destination_1.companies) as there,
           (select count(*)::integer from ledger where pending) as wanted`.execute(db)
  expect(rows).toEqual([{ here: 0, there: 1, wanted: 1 }])
})

test('a role that may read the views of one destination may read those of every other', async () => {
  await sql`create role destination_reader`.execute(db)
  await sql`grant usage on schema nightferry to destination_reader`.execute(db)
  await sql`grant select on companies to destination_reader`.execute(db)
  await db.transaction().execute(async (trx) => {
    await switchDestination(trx, await makeDestination(trx, 'third'))
  })
  const { rows } = await sql<{ here: boolean; there: boolean }>`
    select has_table_privilege('destination_reader', 'nightferry.companies', 'select') as here,
           has_schema_privilege('destination_reader', 'nightferry_destination_2', 'usage')
             and has_table_privilege('destination_reader', 'nightferry_destination_2.companies', 'select') as there`.execute(
    db,
  )
  expect(rows).toEqual([{ here: true, there: true }])
})

test('nightferry grant and its revoke reach the views of destinations that are not in use', async () => {
  await sql`create role waiting_reader`.execute(db)
  const asked = { role: 'waiting_reader', all: false, actor: { user: 'test', host: 'test' }, at: new Date() }
  const reads = async () => {
    const { rows } = await sql<{ reads: boolean }>`
      select has_schema_privilege('waiting_reader', 'nightferry_destination_1', 'usage')
        and has_table_privilege('waiting_reader', 'nightferry_destination_1.companies', 'select') as reads`.execute(db)
    return rows[0]?.reads
  }
  await grantReading(db, asked)
  expect(await reads()).toBe(true)
  await revokeReading(db, asked)
  expect(await reads()).toBe(false)
})

test('the differences that stand are shown of a destination that waits as of the one in use', async () => {
  await db.transaction().execute(async (inside) => {
    await standingDifferences.up(inside as never)
    const { rows } = await sql<{ schemas: number; standing: number }>`
      select count(*)::integer as schemas, count(*) filter (where definition like '%compared_at%')::integer as standing
      from pg_views where viewname = 'differences'`.execute(inside)
    expect(rows[0]?.schemas).toBeGreaterThan(1)
    expect(rows[0]?.standing).toBe(rows[0]?.schemas)
  })
})
