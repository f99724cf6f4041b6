import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { type TestDatabase, testDatabase } from '../helpers/postgres.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await testDatabase({ template: 'empty' })
})
afterAll(() => database[Symbol.asyncDispose]())

it('a server that ends idle sessions ends none that may hold a lock', async () => {
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const owner = createPool(database.url, options)
  await owner.query(`alter database ${database.name} set idle_session_timeout = '1min'`)
  await owner.end()
  const pool = createPool(database.url, options)
  try {
    expect((await pool.query('show idle_session_timeout')).rows).toEqual([{ idle_session_timeout: '0' }])
  } finally {
    await pool.end()
  }
})

it('a server that compiles costly statements compiles none of ours', async () => {
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const owner = createPool(database.url, options)
  await owner.query(`alter database ${database.name} set jit = on`)
  await owner.end()
  const pool = createPool(database.url, options)
  try {
    expect((await pool.query('show jit')).rows).toEqual([{ jit: 'off' }])
  } finally {
    await pool.end()
  }
})
