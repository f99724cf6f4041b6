import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { listedRights, tablesOf, toldRights } from '../../../src/partner/examination.ts'
import { examinePartner, openPartnerSnapshot } from '../../../src/partner/partner-snapshot.ts'
import { testDatabase } from '../../helpers/postgres.ts'

const query = { stream: 'properties', columns: ['id'], fetchRows: 10 }

async function explain(url: string, text: string, cursor: string | null) {
  const snapshot = await openPartnerSnapshot({ url, statementTimeoutMs: 10_000 })
  try {
    return await snapshot.explain({ ...query, query: text, cursor })
  } finally {
    await snapshot.close()
  }
}

describe('PostgreSQL, looked at', () => {
  test('an index serves a cursor of each type, in a join too, and an expression none', async () => {
    await using partner = await testDatabase({ template: 'empty', partner: true })
    const client = new pg.Client({ connectionString: partner.url })
    await client.connect()
    await client.query(`
      create table hotel (id int primary key, at timestamptz, day date, n bigint, s smallint, t text, bare timestamptz);
      create table reading (hotel_id int references hotel, at timestamptz not null, value numeric);
      create index on hotel (at); create index on hotel (day); create index on hotel (n); create index on hotel (s);
      create index on hotel (t); create index on reading (at); create index on reading (hotel_id)`)
    await client.end()
    for (const cursor of ['at', 'day', 'n', 's', 't']) {
      expect([cursor, (await explain(partner.url, 'select * from hotel', cursor)).indexed]).toEqual([cursor, true])
    }
    const joined = 'select h.id, r.at, greatest(r.at, h.at) as late from reading r join hotel h on h.id = r.hotel_id'
    expect((await explain(partner.url, joined, 'at')).indexed).toBe(true)
    expect((await explain(partner.url, joined, 'late')).indexed).toBe(false)
    expect((await explain(partner.url, 'select * from hotel', 'bare')).indexed).toBe(false)
    const whole = await explain(partner.url, 'select * from hotel', null)
    expect(whole.indexed).toBeNull()
    expect(whole.cost).toBeGreaterThan(0)
  })
  test('PostgreSQL shows its tables with schema, columns and types, and without those of the server', async () => {
    await using partner = await testDatabase({ template: 'empty', partner: true })
    const client = new pg.Client({ connectionString: partner.url })
    await client.connect()
    await client.query('create schema own; create table own.hotel (code varchar(9), opened date)')
    await client.end()
    const looking = await examinePartner({ url: partner.url, statementTimeoutMs: 10_000 })
    expect(await looking.tables()).toEqual([
      {
        schema: 'own',
        name: 'hotel',
        columns: [
          { name: 'code', type: 'character varying(9)' },
          { name: 'opened', type: 'date' },
        ],
      },
    ])
    expect(Math.abs(Number(await looking.clock()) - Date.now())).toBeLessThan(5_000)
    await looking.close()
  })
  test('PostgreSQL shows the tables of the schema first in which a session finds its own', async () => {
    await using partner = await testDatabase({ template: 'empty', partner: true })
    const client = new pg.Client({ connectionString: partner.url })
    await client.connect()
    await client.query(`
      create schema archive; create table archive.hotel (code text); create schema own; create table own.hotel (code text);
      create table public.hotel (code text)`)
    const shown = async () => {
      const looking = await examinePartner({ url: partner.url, statementTimeoutMs: 10_000 })
      const tables = await looking.tables()
      await looking.close()
      return tables.map(({ schema }) => schema)
    }
    expect(await shown()).toEqual(['public', 'archive', 'own'])
    await client.query(`alter database ${client.escapeIdentifier(client.database ?? '')} set search_path = own, public`)
    await client.end()
    expect(await shown()).toEqual(['own', 'archive', 'public'])
  })
  test('one that is down names its place, and no password', async () => {
    const url = 'postgres://me:hidden-word@127.0.0.1:1/hotels'
    const looked = examinePartner({ url, statementTimeoutMs: 1_000 })
    await expect(looked).rejects.toThrow(/partner's database at 127\.0\.0\.1:1\/hotels/)
    await expect(looked).rejects.not.toThrow('hidden-word')
  })
})

test('SQLite says its tables, the rights to its file, and that it compares a cursor with every row', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'nightferry-sqlite-'))
  try {
    const path = join(folder, 'hotels.db')
    const database = new DatabaseSync(path)
    database.exec(`create table hotel (id integer primary key, at text, n integer); create index at on hotel (at);
                   create index n on hotel (n); insert into hotel values (1, '2026-01-01', 5)`)
    database.close()
    const url = pathToFileURL(path).href
    const looking = await examinePartner({ url, statementTimeoutMs: 1_000 })
    expect(looking.product).toMatch(/^SQLite 3\./)
    expect(await looking.clock()).toBeNull()
    expect((await looking.rights()).writes).toHaveLength(1)
    expect((await looking.tables())[0]?.columns.map(({ name }) => name)).toEqual(['id', 'at', 'n'])
    await looking.close()
    expect((await explain(url, 'select * from hotel', 'at')).indexed).toBe(false)
    expect((await explain(url, 'select * from hotel', null)).indexed).toBeNull()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('the examination names the first of many rights and counts all of them', () => {
  const rights = toldRights(Array.from({ length: listedRights + 3 }, (_, number) => `write ${number}`))
  expect(rights.writes).toHaveLength(listedRights)
  expect(rights.count).toBe(listedRights + 3)
})

test('columns of tables with one name in two schemas stay apart', () => {
  const column = { table: 'hotel', column: 'id', type: 'int' }
  expect(
    tablesOf([
      { ...column, schema: 'a' },
      { ...column, schema: 'b' },
    ]).map(({ schema }) => schema),
  ).toEqual(['a', 'b'])
})
