import { sql } from 'kysely'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { askBoth, createDatabase, createPool, type Database, type Hurry } from '../../src/db/database.ts'
import { testDatabase } from '../helpers/postgres.ts'

let url: string
let pool: pg.Pool
let db: Database
beforeAll(async () => {
  url = (await testDatabase({ template: 'empty' })).url
  pool = open()
  db = createDatabase(pool)
  await pool.query('create table counted (number integer)')
})
afterAll(() => pool.end())
beforeEach(() => pool.query('truncate counted'))

function open(): pg.Pool {
  return createPool(url, { max: 4, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} })
}

type Answer = { rows: number; backend: number; workers: string }

async function count(from: Database): Promise<Answer> {
  const { rows } = await sql<Answer>`
    select (select count(*) from counted) as rows, pg_backend_pid() as backend,
      current_setting('max_parallel_workers_per_gather') as workers`.execute(from)
  if (rows[0] === undefined) throw new Error('a count gave no row')
  return rows[0]
}

/** What is added between the two counts, and has ended when the second begins. */
async function countAndAdd(from: Database): Promise<Answer> {
  const answer = await count(from)
  await pool.query('insert into counted values (1)')
  return answer
}

describe.each<Hurry>(['none', 'workers', 'apart'])('with the hurry %s', (hurry) => {
  it('both questions see the same rows', async () => {
    const added = Promise.withResolvers<void>()
    const adding = async (from: Database) => {
      const answer = await countAndAdd(from)
      added.resolve()
      return answer
    }
    const counting = async (from: Database) => {
      await added.promise
      return await count(from)
    }
    const [first, second] = await askBoth(db, adding, counting, hurry)
    expect([first.rows, second.rows]).toEqual([0, 0])
    expect(await count(db)).toMatchObject({ rows: 1 })
  })

  it('the questions have a connection each only when they are asked apart', async () => {
    const [first, second] = await askBoth(db, count, count, hurry)
    expect(first.backend === second.backend).toBe(hurry !== 'apart')
  })

  it('workers are asked for in the transaction of the first question alone', async () => {
    const [first] = await askBoth(db, count, count, hurry)
    const { workers: usual } = await count(db)
    expect(first.workers).toBe(hurry === 'workers' ? '2' : usual)
  })

  it('an error of either question is that of the whole', async () => {
    const broken = async (from: Database) => await sql`select * from nowhere`.execute(from)
    await expect(askBoth(db, broken, count, hurry)).rejects.toThrow(/"nowhere" does not exist/)
    let asked = 0
    const brokenAgain = (from: Database) => {
      asked++
      return broken(from)
    }
    await expect(askBoth(db, count, brokenAgain, hurry)).rejects.toThrow(/"nowhere" does not exist/)
    expect(asked).toBe(1)
    expect(await count(db)).toMatchObject({ rows: 0 })
  })
})

it('where another connection cannot be had, both are asked on one', async () => {
  const one = open()
  const only = createDatabase(one)
  const connect = one.connect.bind(one)
  let connections = 0
  // As a server does that has no more of them.
  one.connect = (async () => {
    if (++connections > 1) throw new Error('sorry, too many clients already')
    return await connect()
  }) as typeof one.connect
  await pool.query('insert into counted values (1)')
  const [first, second] = await askBoth(only, countAndAdd, count, 'apart')
  expect([first.rows, second.rows]).toEqual([1, 1])
  expect(second.backend).toBe(first.backend)
  await one.end()
})
