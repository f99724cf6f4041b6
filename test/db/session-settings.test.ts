import { expect, it } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { openQuerySession } from '../../src/db/readers/open-query-session.ts'
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

it('a server that prints and isolates otherwise for all who use it prints and isolates for us as we read it', async () => {
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const owner = createPool(database.url, options)
  for (const setting of foreign) await owner.query(`alter database ${database.name} set ${setting}`)
  await owner.end()
  const pool = createPool(database.url, options)
  try {
    const { rows } = await pool.query(`
      select timestamptz '2026-11-27 18:30:00+00' as moment, interval '90 minutes' as length, 0.1::float8 + 0.2 as sum,
             length('\\') as backslash, current_setting('transaction_isolation') as isolation`)
    expect(rows).toEqual([
      {
        moment: new Date('2026-11-27T18:30:00Z'),
        length: expect.objectContaining({ hours: 1, minutes: 30 }),
        sum: 0.1 + 0.2,
        backslash: 1,
        isolation: 'read committed',
      },
    ])
  } finally {
    await pool.end()
  }
})

it('a server that prints otherwise for all who use it prints the answer to a query of a person as the pages show it', async () => {
  await using other = await testDatabase({ template: 'migrated' })
  const options = { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} }
  const owner = createPool(other.url, options)
  for (const setting of foreign) await owner.query(`alter database ${other.name} set ${setting}`)
  await owner.end()
  const { client } = await openQuerySession(other.url)
  try {
    const { rows } = await client.query(`
      select timestamptz '2026-11-27 18:30:00+00' as moment, interval '90 minutes' as length, 0.1::float8 + 0.2 as sum`)
    expect(rows).toEqual([{ moment: '2026-11-27 18:30:00+00', length: '01:30:00', sum: '0.30000000000000004' }])
  } finally {
    await client.end()
  }
})

const foreign = [
  `datestyle = 'German, DMY'`,
  `intervalstyle = 'sql_standard'`,
  'extra_float_digits = -15',
  'standard_conforming_strings = off',
  `default_transaction_isolation = 'serializable'`,
]
