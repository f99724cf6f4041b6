import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { copyReady } from '../../src/db/copy-text.ts'
import { isConnectionLost } from '../../src/db/database-trouble.ts'
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts'

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await testDatabase({ template: 'empty' })
  client = await connect()
})
beforeEach(async () => {
  await client.query('drop table if exists one, two')
  await client.query('create table one (id integer primary key, word text); create table two (id integer primary key)')
})
afterAll(async () => {
  await client.end()
  await database[Symbol.asyncDispose]()
})

async function connect(): Promise<pg.Client> {
  const connected = new pg.Client({ connectionString: database.url })
  connected.on('error', () => {})
  await connected.connect()
  return connected
}

function numbers(from: number, to: number, word = ''): Buffer {
  const tail = word === '' ? '' : `\t${word}`
  return Buffer.from(Array.from({ length: to - from + 1 }, (_, at) => `${from + at}${tail}\n`).join(''))
}

async function counts(): Promise<{ one: number; two: number }> {
  const { rows } = await client.query<{ one: number; two: number }>(
    'select (select count(*)::integer from one) as one, (select count(*)::integer from two) as two',
  )
  return rows[0] ?? { one: -1, two: -1 }
}

test('rows of several tables, in several pieces and larger than what a socket holds, are all copied', async () => {
  const word = 'ä'.repeat(500)
  await copyReady(client, [
    { into: 'one (id, word)', rows: [numbers(1, 5_000, word), numbers(5_001, 20_000, word), Buffer.alloc(0)] },
    { into: 'two (id)', rows: [numbers(1, 10)] },
  ])
  expect(await counts()).toEqual({ one: 20_000, two: 10 })
  const { rows } = await client.query('select count(*)::integer as whole from one where word = $1', [word])
  expect(rows).toEqual([{ whole: 20_000 }])
})

test('nothing to copy is nothing to ask, and a table without rows is none that fails', async () => {
  await copyReady(client, [])
  await copyReady(client, [{ into: 'two (id)', rows: [] }])
  expect(await counts()).toEqual({ one: 0, two: 0 })
})

test('a limit of the driver on the time of a query ends a copy that waits, and nothing that has ended', async () => {
  const limited = new pg.Client({ connectionString: database.url, query_timeout: 300 })
  limited.on('error', () => {})
  await limited.connect()
  try {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await copyReady(limited, [{ into: 'two (id)', rows: [numbers(1, 3)] }])
    expect(vi.getTimerCount()).toBe(0)
    vi.useRealTimers()
    await client.query('begin')
    await client.query('lock table two in share mode')
    await expect(copyReady(limited, [{ into: 'two (id)', rows: [numbers(4, 6)] }])).rejects.toThrow('timeout')
  } finally {
    vi.useRealTimers()
    await client.query('rollback')
    await limited.end()
  }
})

const much = numbers(1, 200_000, 'x'.repeat(20))

test.each([
  [
    'a table that is not there',
    [
      { into: 'three (id)', rows: [much] },
      { into: 'two (id)', rows: [much] },
    ],
    '42P01',
  ],
  [
    'a row of the first table',
    [{ into: 'one (id, word)', rows: [numbers(1, 2, 'x'), numbers(2, 3, 'x'), much] }],
    '23505',
  ],
  [
    'a row of the second table',
    [
      { into: 'one (id, word)', rows: [much] },
      { into: 'two (id)', rows: [Buffer.from('1\nno number\n'), much] },
      { into: 'two (id)', rows: [numbers(7, 8)] },
    ],
    '22P02',
  ],
])('%s that fails is told, leaves nothing of the others, and the connection goes on', async (_, copies, code) => {
  await client.query('begin')
  await client.query('savepoint before')
  const error: unknown = await copyReady(client, copies).catch((problem: unknown) => problem)
  expect(error).toMatchObject({ code })
  await client.query('rollback to savepoint before')
  expect(await counts()).toEqual({ one: 0, two: 0 })
  await copyReady(client, [{ into: 'two (id)', rows: [numbers(1, 3)] }])
  await client.query('commit')
  expect(await counts()).toEqual({ one: 0, two: 3 })
})

test('a backend that is ended while it copies is a connection lost', async () => {
  const victim = await connect()
  const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid')
  await client.query('begin')
  await client.query('lock table two in share mode')
  const copying = copyReady(victim, [{ into: 'two (id)', rows: [much, much, much] }]).catch((error: unknown) => error)
  await expect
    .poll(
      async () => (await client.query('select from pg_locks where not granted and pid = $1', [rows[0]?.pid])).rowCount,
    )
    .toBe(1)
  await client.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  expect(isConnectionLost(await copying)).toBe(true)
  await client.query('rollback')
  const later: unknown = await copyReady(victim, [{ into: 'two (id)', rows: [much] }]).catch((error: unknown) => error)
  expect(isConnectionLost(later)).toBe(true)
  expect(await counts()).toEqual({ one: 0, two: 0 })
})
