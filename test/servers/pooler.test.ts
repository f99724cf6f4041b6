import { expect, inject, test } from 'vitest'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { finalTables } from '../helpers/final-tables.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { startPgbouncer } from './pgbouncer.ts'

const run = ['run', 'nightly-sync', '--json', '--config', demoConfig]

/** The database of an address, by name. */
const nameOf = (url: string) => new URL(url).pathname.slice(1)

test.each(['transaction', 'statement'] as const)(
  "a pooler in %s mode before Nightferry's database is refused at the start, with what to do, and nothing is migrated",
  async (mode) => {
    await using world = await startWorld({ hotels: 1 })
    await using folder = await workingFolder()
    await using pooler = await startPgbouncer(inject('postgres').adminUrl, mode)
    const address = pooler.url(nameOf(world.databaseUrl))
    const ended = await nightferry(folder.path, run, { ...world.environment(), DATABASE_URL: address })
    expect(ended.code).toBe(1)
    expect(ended.stderr).toMatch(/^nightferry: database_session_not_kept: .*pool_mode = session\.$/m)
    const { rows } = await world.pool.query(`select from pg_namespace where nspname = 'nightferry'`)
    expect(rows).toEqual([])
  },
)

test('a pooler with a single session is refused in transaction mode, and nothing hangs', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using pooler = await startPgbouncer(inject('postgres').adminUrl, 'transaction', 1)
  const ended = await nightferry(folder.path, ['runs', '--config', demoConfig], {
    ...world.environment(),
    DATABASE_URL: pooler.url(nameOf(world.databaseUrl)),
  })
  expect(ended.stderr).toContain('database_session_not_kept')
})

test("a night by way of poolers, in session mode before our database and in transaction mode before the partner's, ends as one without", async () => {
  await using direct = await startWorld({ hotels: 5 })
  await using pooled = await startWorld({ hotels: 5 })
  await using folder = await workingFolder()
  await using sessions = await startPgbouncer(inject('postgres').adminUrl, 'session')
  await using transactions = await startPgbouncer(inject('postgres').partnerUrl, 'transaction')
  const without = await nightferry(folder.path, run, direct.environment())
  const by = await nightferry(folder.path, run, {
    ...pooled.environment(),
    DATABASE_URL: sessions.url(nameOf(pooled.databaseUrl)),
    PARTNER_DATABASE_URL: transactions.url(nameOf(pooled.partnerUrl)),
  })
  expect(by.code, by.stderr).toBe(without.code)
  expect([0, 3]).toContain(without.code)
  const tables = await finalTables(pooled.pool)
  expect(tables.calculator_values?.rows).toBeGreaterThan(200)
  expect(tables).toEqual(await finalTables(direct.pool))
})
