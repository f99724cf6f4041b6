import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrateToLatest } from '../../src/db/migrate-to-latest.ts'
import { openQuerySession } from '../../src/db/readers/open-query-session.ts'
import { testDatabase } from '../helpers/postgres.ts'

let url: string
let admin: pg.Client

beforeAll(async () => {
  const database = await testDatabase()
  url = database.url
  admin = new pg.Client({ connectionString: url })
  admin.on('error', () => {})
  await admin.connect()
  await admin.query('create table public.of_others (word text)')
})
afterAll(() => admin.end())

/** One query of a person, as the verb asks it. */
async function ask(query: string, address = url): Promise<{ rows: object[]; notice: string | null }> {
  const { client, notice } = await openQuerySession(address)
  try {
    const asked: pg.QueryConfig & { queryMode: 'extended' } = { text: query, queryMode: 'extended' }
    return { rows: (await client.query<object>(asked)).rows, notice }
  } finally {
    await client.end()
  }
}

const roleHere = async () => {
  const { rows } = await admin.query<{ role: string }>(
    `select 'nightferry_sql_' || oid as role from pg_database where datname = current_database()`,
  )
  return rows[0]?.role ?? ''
}

describe('a query on a server where roles can be made', () => {
  const superuser = '(select rolname from pg_roles where rolsuper limit 1)'

  test.each([
    "copy (select 1) to program 'cat'",
    "copy (select 1) to '/nowhere/file'",
    "select pg_read_file('PG_VERSION')",
    "select pg_ls_dir('.')",
    'select rolname, rolpassword from pg_authid',
    'select * from public.of_others',
    "do $$ begin reset role; perform pg_read_file('PG_VERSION'); end $$",
    "do $$ begin reset session authorization; perform pg_read_file('PG_VERSION'); end $$",
    `do $$ begin execute format('set role %I', ${superuser}); end $$`,
    `do $$ begin execute format('set session authorization %I', ${superuser}); end $$`,
    `select set_config('role', ${superuser}, false)`,
    "do $$ begin perform set_config('default_transaction_read_only', 'off', false); delete from source_row; end $$",
    'create temporary table t (a int)',
    'delete from source_row',
    "select lo_import('/etc/hostname')",
  ])('a query on a server where roles can be made is refused where it does more than read: %s', async (query) => {
    await expect(ask(query)).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|25006)$/) })
  })

  test.each([
    'set transaction read write',
    "select set_config('transaction_read_only', 'off', false)",
    'do $$ begin commit; set transaction read write; end $$',
  ])('cannot make its transaction writable: %s', async (query) => {
    await expect(ask(query)).rejects.toMatchObject({ code: expect.stringMatching(/^(25001|2D000)$/) })
  })

  test('reads every table and view, also of a schema that came since the last query', async () => {
    const { rows } = await admin.query<{ relname: string }>(
      `select relname from pg_class where relnamespace = 'nightferry'::regnamespace and relkind in ('r', 'v')`,
    )
    expect(rows.length).toBeGreaterThan(30)
    await ask(rows.map(({ relname }) => `select '${relname}' from nightferry."${relname}"`).join(' union all '))
    await admin.query('create schema nightferry_elsewhere create table there (word text)')
    await admin.query(`insert into nightferry_elsewhere.there values ('here')`)
    expect((await ask('select word from nightferry_elsewhere.there')).rows).toEqual([{ word: 'here' }])
  })

  test('leaves a role as which nobody can log in, and that has no password', async () => {
    await ask('select 1')
    const { rows } = await admin.query('select rolcanlogin, rolpassword from pg_authid where rolname = $1', [
      await roleHere(),
    ])
    expect(rows).toEqual([{ rolcanlogin: false, rolpassword: null }])
  })

  test('a query on a server where roles can be made is answered when others come at the same time', async () => {
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((nth) => ask(`select ${nth} as nth from companies right join (select 1) x on true`)),
    )
    expect(answers).toEqual([1, 2, 3, 4, 5].map((nth) => ({ rows: [{ nth: String(nth) }], notice: null })))
  })

  test('a query on a server where roles can be made is not asked as long as its role was given more than reading', async () => {
    await ask('select 1')
    const role = await roleHere()
    await admin.query(`grant pg_read_all_data to ${role}`)
    await expect(ask('select 1')).rejects.toMatchObject({
      code: 'query_not_limited',
      message: expect.stringMatching(/pg_read_all_data.*drop role/),
    })
    await admin.query(`revoke pg_read_all_data from ${role}`)
    await ask('select 1')
  })
})

test('a query on a server where no role can be made runs as the owner of the tables, says so, and is refused once that may do more', async () => {
  const role = 'ferry_without_rights'
  const database = await testDatabase({ template: 'empty' })
  const address = Object.assign(new URL(database.url), { username: role, password: 'of-the-ferry' }).href
  await admin.query(`create role ${role} login password 'of-the-ferry'`)
  await admin.query(`grant create on database "${database.name}" to ${role}`)
  await migrateToLatest(address)

  expect(await ask('select count(*) as companies from companies', address)).toEqual({
    rows: [{ companies: '0' }],
    notice: expect.stringMatching(
      /^The query runs as ferry_without_rights, because .* may not make a role.*: read-only/,
    ),
  })
  for (const query of ['delete from source_row', "copy (select 1) to program 'cat'", 'table pg_authid']) {
    await expect(ask(query, address), query).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|25006)$/) })
  }
  await admin.query(`grant pg_read_server_files to ${role}`)
  await expect(ask('select 1', address)).rejects.toMatchObject({
    code: 'query_not_limited',
    message: expect.stringContaining('pg_read_server_files'),
  })
  await admin.query(`revoke pg_read_server_files from ${role}`)
  await admin.query(`alter role ${role} createrole`)
  expect(await ask('select 1', address)).toMatchObject({ notice: null })
})
