import { expect, it } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'

const database = await ofThisFile(testDatabase({ template: 'empty' }))

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

const timeOuts = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout']

it('a server with short time-outs for all who use it ends nothing of ours', async () => {
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const owner = createPool(database.url, options)
  for (const name of timeOuts) await owner.query(`alter database ${database.name} set ${name} = '100ms'`)
  await owner.end()
  const pool = createPool(database.url, options)
  try {
    for (const name of timeOuts) expect((await pool.query(`show ${name}`)).rows).toEqual([{ [name]: '0' }])
    await pool.query('select pg_sleep(0.3)')
  } finally {
    await pool.end()
  }
})

it('a server with short time-outs for all who use it leaves us those that we want', async () => {
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const pool = createPool(database.url, { ...options, lockTimeoutMs: 5_000, statementTimeoutMs: 7_000 })
  try {
    expect((await pool.query('show lock_timeout')).rows).toEqual([{ lock_timeout: '5s' }])
    expect((await pool.query('show statement_timeout')).rows).toEqual([{ statement_timeout: '7s' }])
  } finally {
    await pool.end()
  }
})
