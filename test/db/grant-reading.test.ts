import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { fillTables } from '../../bench/fill-tables.ts'
import { createDatabase, createPool, type Database } from '../../src/db/database.ts'
import {
  grantReading,
  type ReadingRequest,
  reservedViews,
  revokeReading,
  viewsOfSchema,
} from '../../src/db/readers/grant-reading.ts'
import { testDatabase } from '../helpers/postgres.ts'

let url: string
let pool: pg.Pool
let db: Database
let views: string[]

beforeAll(async () => {
  url = (await testDatabase()).url
  pool = createPool(url, { max: 2, applicationName: 'readers test', searchPath: 'nightferry', onIdleError: () => {} })
  db = createDatabase(pool)
  await fillTables(pool, { calculators: 26 })
  views = await viewsOfSchema(db)
})

afterAll(() => pool.end())

const password = 'only for this test'

/**
 * A role of the test's own that can log in, gone with the test; its name needs quoting unless another prefix is given.
 */
async function makeRole(prefix = 'Robert"); drop table -- '): Promise<string> {
  const role = `${prefix}${randomBytes(6).toString('hex')}`
  const quoted = pg.escapeIdentifier(role)
  await pool.query(`create role ${quoted} login password '${password}'`)
  onTestFinished(async () => {
    await pool.query(`drop owned by ${quoted}`)
    await pool.query(`drop role ${quoted}`)
  })
  return role
}

/**
 * What the role can do when it logs in: the codes of the queries that it is refused, and of the others how many rows.
 */
async function asRole(role: string, queries: readonly string[]): Promise<(number | string)[]> {
  const address = new URL(url)
  address.username = encodeURIComponent(role)
  address.password = encodeURIComponent(password)
  const client = new pg.Client({ connectionString: address.href })
  await client.connect()
  try {
    const answers: (number | string)[] = []
    for (const query of queries) {
      answers.push(
        await client.query(query).then(
          ({ rows }) => rows.length,
          (error: { code: string }) => error.code,
        ),
      )
    }
    return answers
  } finally {
    await client.end()
  }
}

function asked(role: string, over: Partial<ReadingRequest> = {}): ReadingRequest {
  return { role, all: false, actor: { user: 'somebody', host: 'a machine' }, at: new Date(), ...over }
}

const selects = (names: readonly string[]) =>
  names.map((name) => `select * from nightferry.${pg.escapeIdentifier(name)}`)
const denied = '42501'

async function tables(): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select relname as name from pg_class where relnamespace = 'nightferry'::regnamespace and relkind in ('r', 'p', 'S')`,
  )
  return rows.map(({ name }) => name)
}

describe('a role that is let read', () => {
  test('reads every view that is data for analysis, with its numbers, and no other view', async () => {
    const role = await makeRole()
    // As some administrators do: what a view calls must be granted as well then.
    await pool.query('revoke execute on function numeric_reading(text) from public')
    expect(await asRole(role, selects(views))).toEqual(views.map(() => denied))
    const { views: granted, now } = await grantReading(db, asked(role))
    const expected = views.filter((view) => !reservedViews.includes(view))
    expect(granted).toEqual(expected)
    expect(now).toEqual({ connects: true, views: expected, tables: [] })
    const answers = await asRole(role, selects(views))
    expect(views.filter((_, at) => answers[at] === denied)).toEqual([...reservedViews])
    const numbers = 'select value_numeric from nightferry.calculator_values where value_numeric is not null'
    expect((await asRole(role, [numbers]))[0]).toBeGreaterThan(100)
  })

  test('reads the views of a destination whose schema has a number beyond two thousand million', async () => {
    const role = await makeRole()
    // Numbers of the catalogue have no sign: a database that has made as many objects gives such.
    await pool.query(
      `insert into pg_namespace (oid, nspname, nspowner)
       select 3000000000, 'nightferry_destination_9', nspowner from pg_namespace where nspname = 'nightferry'`,
    )
    await pool.query(
      `insert into destination (name, schema_name, left_at) values ('ninth', 'nightferry_destination_9', now())`,
    )
    onTestFinished(async () => {
      await pool.query(`delete from destination where name = 'ninth'`)
      await pool.query('drop schema nightferry_destination_9')
    })
    await grantReading(db, asked(role))
    const { rows } = await pool.query(`select has_schema_privilege($1, 'nightferry_destination_9', 'usage') as may`, [
      role,
    ])
    expect(rows).toEqual([{ may: true }])
    await revokeReading(db, asked(role))
  })

  test('reads also the actions of people, the drift and the ledger when a person says so', async () => {
    const role = await makeRole()
    await grantReading(db, asked(role, { all: true }))
    expect((await asRole(role, selects(views))).filter((answer) => typeof answer === 'string')).toEqual([])
  })

  test('reads no table under the views: no payload, no key, no content of the ledger', async () => {
    const role = await makeRole()
    await grantReading(db, asked(role, { all: true }))
    const names = await tables()
    expect(names).toEqual(
      expect.arrayContaining([
        'submission_payload',
        'service_key',
        'source_row',
        'acceptance',
        'row_change',
        'company',
      ]),
    )
    expect(await asRole(role, selects(names))).toEqual(names.map(() => denied))
  })

  test('writes nothing, through a view or beside it, and makes nothing in the schema', async () => {
    const role = await makeRole()
    await grantReading(db, asked(role, { all: true }))
    const attempts = [
      'delete from nightferry.actions',
      "update nightferry.destinations set name = ''",
      "insert into nightferry.calculator_variables values ('a', 'b')",
      'truncate nightferry.calculator_value',
      'create table nightferry.mine (a integer)',
      'create view nightferry.mine as select 1',
      'alter view nightferry.companies set (security_invoker = true)',
      'select * from nightferry.companies for update',
    ]
    const answers = await asRole(role, attempts)
    expect(answers.filter((answer) => answer !== denied)).toEqual([])
    // A grant by somebody who may not give is only a warning, and changes nothing.
    await asRole(role, ['grant select on nightferry.companies to public'])
    expect(await asRole(await makeRole('another'), selects(['companies']))).toEqual([denied])
  })

  test('reads nothing any more when it was taken back, however often it was granted', async () => {
    const role = await makeRole()
    await grantReading(db, asked(role, { all: true }))
    await grantReading(db, asked(role))
    const { now } = await revokeReading(db, asked(role))
    expect(now).toEqual({ connects: true, views: [], tables: [] })
    expect(await asRole(role, selects(views))).toEqual(views.map(() => denied))
  })

  test('reads a view that came later after another call', async () => {
    const role = await makeRole()
    await grantReading(db, asked(role))
    await pool.query('create view later_view as select company_id from company')
    onTestFinished(async () => {
      await pool.query('drop view later_view')
    })
    expect(await asRole(role, selects(['later_view']))).toEqual([denied])
    expect((await grantReading(db, asked(role))).views).toContain('later_view')
    expect(await asRole(role, selects(['later_view']))).toEqual([2])
  })

  test('a role that is let read is reported to read tables if another role lets it, and what of it stays when it is taken back', async () => {
    const role = await makeRole()
    const other = await makeRole('everything')
    await pool.query(`grant select on nightferry.company to ${pg.escapeIdentifier(other)}`)
    await pool.query(`grant usage on schema nightferry to ${pg.escapeIdentifier(other)}`)
    await pool.query(`grant select on nightferry.companies to ${pg.escapeIdentifier(other)}`)
    await pool.query(`grant ${pg.escapeIdentifier(other)} to ${pg.escapeIdentifier(role)}`)
    expect((await grantReading(db, asked(role))).now.tables).toEqual(['company'])
    expect((await revokeReading(db, asked(role))).now).toEqual({
      connects: true,
      views: ['companies'],
      tables: ['company'],
    })
  })
})

test('what was granted and taken back is among the actions, with who did it', async () => {
  const role = await makeRole()
  await grantReading(db, asked(role, { all: true }))
  await revokeReading(db, asked(role))
  const { rows } = await pool.query(
    `select verb, acted_by, host, asked, rows, result from actions where asked ->> 'role' = $1 order by action_id`,
    [role],
  )
  const common = { acted_by: 'somebody', host: 'a machine', rows: views.length, result: views.join(', ') }
  expect(rows).toEqual([
    { verb: 'grant', asked: { role, all: 'true' }, ...common },
    { verb: 'revoke', asked: { role }, ...common },
  ])
})

describe('nothing is granted, and no action written down', () => {
  async function refusal(work: () => Promise<unknown>): Promise<{ code: string; message: string }> {
    const count = async () => (await pool.query('select count(*) from action')).rows
    const before = await count()
    const error = await work().then(
      () => ({ code: 'nothing was refused', message: '' }),
      (reason: { code: string; message: string }) => reason,
    )
    expect(await count()).toEqual(before)
    return error
  }

  test('a role that does not exist, one that differs in case, and everybody get no leave to read', async () => {
    const role = await makeRole('reader')
    for (const name of ['nobody of that name', role.toUpperCase(), 'public', '']) {
      expect(await refusal(() => grantReading(db, asked(name)))).toMatchObject({ code: 'role_unknown' })
      expect(await refusal(() => revokeReading(db, asked(name)))).toMatchObject({ code: 'role_unknown' })
    }
  })

  test('a superuser and the owner of the tables get no leave to read', async () => {
    const { rows } = await pool.query<{ role: string }>('select current_user as role')
    expect(await refusal(() => grantReading(db, asked(rows[0]?.role ?? '')))).toMatchObject({
      code: 'role_not_limited',
      message: expect.stringMatching(/owns the tables/),
    })
    const role = await makeRole('mighty')
    await pool.query(`alter role ${role} superuser`)
    expect(await refusal(() => revokeReading(db, asked(role)))).toMatchObject({ code: 'role_not_limited' })
  })

  test('a role that does not own the views gives no leave to read', async () => {
    const role = await makeRole('reader')
    const helper = await makeRole('helper')
    const quoted = pg.escapeIdentifier(helper)
    await pool.query(`grant usage on schema nightferry to ${quoted}`)
    await pool.query(`grant select on all tables in schema nightferry to ${quoted}`)
    await pool.query(`grant insert on nightferry.action to ${quoted}`)
    const address = new URL(url)
    address.username = helper
    address.password = encodeURIComponent(password)
    const theirs = createPool(address.href, {
      max: 1,
      applicationName: 'helper',
      searchPath: 'nightferry',
      onIdleError: () => {},
    })
    onTestFinished(() => theirs.end())
    expect(await refusal(() => grantReading(createDatabase(theirs), asked(role)))).toMatchObject({
      code: 'grant_refused',
    })
    expect(await asRole(role, selects(views))).toEqual(views.map(() => denied))
  })
})
