import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaLock, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { watchSchema } from '../../src/db/schema-standing.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { ask } from './fixtures/cluster-process.ts'
import { migrateBut } from './fixtures/migrate-but.ts'

const patience = { timeout: 60_000, interval: 10 }
const all = Object.keys(migrations).length
const makeQueue = 'create schema nightferry_queue; create table nightferry_queue.job ()'

/**
 * Holds the list of migrations as somebody's open transaction may, until it is told to let go. Every migration writes
 * to it.
 */
async function reader(url: string): Promise<{ letGo: () => Promise<void> }> {
  const client = new pg.Client({ connectionString: url, application_name: 'an analyst' })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query('lock table nightferry.kysely_migration in share mode')
  return { letGo: async () => void (await client.query('commit')) }
}

test('a migration that somebody stands in the way of gives up in time, names who, and changes nothing', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  await migrateBut(url, 1)
  await reader(url)
  const said: string[] = []
  const migrating = migrateToLatest(url, {
    lockTimeoutMs: 400,
    patienceMs: 1_000,
    onWaiting: (sentence) => said.push(sentence),
  })
  await expect(migrating).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringMatching(/locked by server process \d+ \(an analyst, role \w+.*\)\. End that/),
  })
  expect(said).toEqual([expect.stringMatching(/^The migration waits for server process \d+ \(an analyst/)])
})

test('a migration goes on as soon as the lock that it waits for is let go', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  await migrateBut(url, 1)
  const { letGo } = await reader(url)
  const waiting = Promise.withResolvers<void>()
  const migrating = migrateToLatest(url, { lockTimeoutMs: 400, onWaiting: () => waiting.resolve() })
  await waiting.promise
  await letGo()
  expect((await migrating).filter(({ applied }) => applied)).toHaveLength(1)
  expect(await ask(url, `select count(*)::int as count from ${schemaName}.kysely_migration`)).toEqual([{ count: all }])
})

/** Holds the lock under which the schema is made, as a restore of a backup does. */
async function restorer(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'a restore' })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin')
  await client.query('select pg_advisory_xact_lock($1)', [schemaLock])
  return client
}

test('a migration comes back to wait for the process that makes the schema, and goes on once that is done', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  const restore = await restorer(url)
  const waiting = Promise.withResolvers<void>()
  const migrating = migrateToLatest(url, { lockTimeoutMs: 400, onWaiting: () => waiting.resolve() })
  // What ends too early is said when it is looked at below.
  migrating.catch(() => waiting.resolve())
  await waiting.promise
  const turns = new Set<string>()
  await Promise.race([
    migrating,
    vi.waitFor(async () => {
      const { rows } = await restore.query<{ turn: string }>(
        `select waitstart::text as turn from pg_locks where locktype = 'advisory' and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      )
      for (const { turn } of rows) turns.add(turn)
      expect(turns.size).toBeGreaterThan(1)
    }, patience),
  ])
  await restore.query('commit')
  expect((await migrating).filter(({ applied }) => applied)).toHaveLength(all)
})

test('a migration that the making of the schema keeps waiting too long says who made it wait', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  await restorer(url)
  await expect(migrateToLatest(url, { lockTimeoutMs: 400, patienceMs: 1_000 })).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringMatching(
      /^The first migration did not get the lock .*locked by server process \d+ \(a restore/,
    ),
  })
})

test('a watch on the schema says when a newer version has migrated, and not before', async () => {
  const { url } = await testDatabase({ template: 'migrated' })
  const pool = createPool(url, { max: 1, applicationName: 'test', searchPath: schemaName, onIdleError: () => {} })
  onTestFinished(() => pool.end())
  await ask(url, makeQueue)
  const watch = watchSchema(createDatabase(pool), 10)
  await watch.check()
  expect(watch.lost.aborted).toBe(false)
  await ask(url, `insert into nightferry.kysely_migration (name, timestamp) values ('9999-newer', 'now')`)
  await vi.waitFor(() => expect(watch.lost.reason).toMatchObject({ code: 'schema_newer' }), patience)
  await expect(watch.check()).rejects.toMatchObject({ code: 'schema_newer' })
  watch.stop()
})

test.each([
  ['schema_older', `delete from nightferry.kysely_migration where name = '${Object.keys(migrations).at(-1)}'`],
  ['queue_missing', 'drop schema nightferry_queue cascade'],
  ['queue_missing', `drop schema nightferry_queue cascade; ${makeQueue}`],
])(
  'a database that was put in the place of the one in use is told of as %s, and an empty one is waited on',
  async (code, replaced) => {
    const { url } = await testDatabase({ template: 'migrated' })
    const pool = createPool(url, { max: 1, applicationName: 'test', searchPath: schemaName, onIdleError: () => {} })
    onTestFinished(() => pool.end())
    await ask(url, makeQueue)
    const watch = watchSchema(createDatabase(pool), 10)
    await watch.check()
    await ask(url, 'alter schema nightferry rename to away')
    await watch.check()
    expect(watch.lost.aborted).toBe(false)
    await ask(url, `alter schema away rename to nightferry; ${replaced}`)
    await vi.waitFor(() => expect(watch.lost.reason).toMatchObject({ code }), patience)
    await expect(watch.check()).rejects.toMatchObject({ code })
    watch.stop()
  },
)

test('a pool for looking refuses to write', async () => {
  const { url } = await testDatabase({ template: 'migrated' })
  const pool = createPool(url, {
    max: 1,
    applicationName: 'test',
    searchPath: schemaName,
    readOnly: true,
    onIdleError: () => {},
  })
  onTestFinished(() => pool.end())
  await expect(pool.query('delete from run')).rejects.toMatchObject({ code: '25006' })
  expect((await pool.query('select from run')).rows).toEqual([])
})
