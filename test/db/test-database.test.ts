import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { testDatabase } from '../helpers/postgres.ts'

async function query<T extends pg.QueryResultRow>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<T>(text)).rows
  } finally {
    await client.end()
  }
}

test('testDatabase gives every caller a database that no other sees', async () => {
  const [one, other] = await Promise.all([testDatabase({ template: 'empty' }), testDatabase({ template: 'empty' })])
  await query(one.url, 'create table here (id int)')
  const tables = `select to_regclass('public.here') is not null as found`
  expect(await query(one.url, tables)).toEqual([{ found: true }])
  expect(await query(other.url, tables)).toEqual([{ found: false }])
})

test('testDatabase clones our newest schema unless asked for an empty database', async () => {
  await using migrated = await testDatabase()
  await using empty = await testDatabase({ template: 'empty' })
  const schemas = `select count(*)::int as count from information_schema.schemata where schema_name = 'nightferry'`
  expect(await query(migrated.url, schemas)).toEqual([{ count: 1 }])
  expect(await query(empty.url, schemas)).toEqual([{ count: 0 }])
})

test('testDatabase closes the connections that a test left open when its database is disposed of', async () => {
  const database = await testDatabase({ template: 'empty' })
  const client = new pg.Client({ connectionString: database.url })
  const lost = new Promise<Error>((resolve) => client.on('error', resolve))
  await client.connect()
  await database[Symbol.asyncDispose]()
  expect(await lost).toMatchObject({ code: '57P01' })
  const open = await query<{ count: number }>(
    inject('postgres').adminUrl,
    `select count(*)::int as count from pg_stat_activity where datname = '${database.name}'`,
  )
  expect(open).toEqual([{ count: 0 }])
})
