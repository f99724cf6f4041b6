import pg from 'pg'
import { expect, test } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { isConnectionLost, mayPass, withRemedy } from '../../src/db/database-trouble.ts'
import { tcpServer } from '../exchange/fault-server.ts'
import { testDatabase } from '../helpers/postgres.ts'

test('a backend that is ended is a connection lost, for the query at work and the one after it', async () => {
  const { url } = await testDatabase()
  const [victim, other] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
  victim.on('error', () => {})
  await Promise.all([victim.connect(), other.connect()])
  const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid')
  const sleeping = victim.query('select pg_sleep(30)').catch((error: unknown) => error)
  await other.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  expect(isConnectionLost(await sleeping)).toBe(true)
  expect(isConnectionLost(await victim.query('select 1').catch((error: unknown) => error))).toBe(true)
  await other.end()
})

test('a server that is not there is a connection lost; a query that is wrong is not', async () => {
  const nowhere = new pg.Client({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
  expect(isConnectionLost(await nowhere.connect().catch((error: unknown) => error))).toBe(true)
  const { url } = await testDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const query of ['select nothing', 'selct 1', 'select 1/0']) {
    expect(isConnectionLost(await client.query(query).catch((error: unknown) => error))).toBe(false)
  }
  expect(isConnectionLost(new TypeError('ours'))).toBe(false)
  await client.end()
})

test('a pool whose connections are all in use gives up waiting in its time, says so, and serves again', async () => {
  const { url } = await testDatabase()
  const options = { applicationName: 'exhausted', searchPath: 'public', onIdleError: () => {} }
  const pool = createPool(url, { ...options, max: 2, connectTimeoutMs: 1_000 })
  try {
    const held = await Promise.all([pool.connect(), pool.connect()])
    const refused: unknown = await pool.query('select 1').catch((error: unknown) => error)
    expect(isConnectionLost(refused)).toBe(true)
    expect(withRemedy(refused)).toMatchObject({ code: 'database_unreachable', cause: refused })
    for (const client of held) client.release()
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
  } finally {
    await pool.end()
  }
})

test('a pool none of whose connections becomes free is told from a server that is not there, or never answers', async () => {
  const { url } = await testDatabase()
  await using silent = await tcpServer(() => {})
  const options = { applicationName: 'exhausted', searchPath: 'public', onIdleError: () => {}, connectTimeoutMs: 500 }
  const refusal = async (address: string, max: number, work: (pool: pg.Pool) => Promise<unknown>) => {
    const pool = createPool(address, { ...options, max })
    const thrown: unknown = await work(pool).catch((error: unknown) => error)
    await pool.end()
    return thrown
  }
  const stuck = await refusal(url, 1, async (pool) => {
    const client = await pool.connect()
    return await pool.query('select 1').finally(() => client.release())
  })
  const ask = (pool: pg.Pool) => pool.query('select 1')
  expect(mayPass(stuck)).toBe(false)
  const elsewhere = [`postgres://nobody@127.0.0.1:${silent.port}/none`, 'postgres://nobody@127.0.0.1:1/none']
  for (const address of elsewhere) {
    const thrown = await refusal(address, 1, ask)
    expect(isConnectionLost(thrown)).toBe(true)
    expect(mayPass(thrown), String(thrown)).toBe(true)
  }
})
