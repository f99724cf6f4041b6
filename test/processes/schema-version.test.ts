import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import { createProgram } from '../../src/cli/program.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import type { DurationSettings } from '../../src/sandbox/durations.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { ask } from '../db/fixtures/cluster-process.ts'
import { migrateBut } from '../db/fixtures/migrate-but.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }
const newest = Object.keys(migrations).at(-1) ?? ''
const future = '9999-of-a-newer-version'
const arrive = `insert into nightferry.kysely_migration (name, timestamp) values ('${future}', 'now')`

const looking = [
  ['status'],
  ['runs'],
  ['submissions'],
  ['waves'],
  ['rejected'],
  ['parked'],
  ['trace', 'H-0001'],
  ['differences'],
  ['changes'],
  ['drift'],
  ['reference'],
  ['sql', 'select 1'],
  ['retry', '--all', '--dry-run'],
]

/** Runs a verb in this process: a process each for so many verbs would take minutes on a busy machine. */
async function verb(args: readonly string[], environment: Record<string, string>): Promise<void> {
  const cli: Cli = {
    environment,
    workingFolder: '/',
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    signal: new AbortController().signal,
    now: () => new Date(),
  }
  const program = await createProgram(cli, 'test', args, () => {})
  await program.parseAsync(['node', 'nightferry', ...args])
}

test('a verb that looks makes nothing in a database that was never migrated, and says which verbs do', async () => {
  const { url } = await testDatabase({ template: 'empty' })
  for (const args of some(looking)) {
    await expect(verb(args, { DATABASE_URL: url }), args.join(' ')).rejects.toMatchObject({
      code: 'schema_missing',
      message: expect.stringMatching(/`nightferry migrate` makes them, and so do `run` and `serve`/),
    })
  }
  expect(await ask(url, `select nspname from pg_namespace where nspname like 'nightferry%'`)).toEqual([])
})

test('status leaves an older schema as it is, names both, and says what brings it up to date', async () => {
  await using folder = await workingFolder()
  const { url } = await testDatabase({ template: 'empty' })
  const stands = await migrateBut(url, 1)
  for (const args of [['status'], ['approve', '1'], ['abandon', '1', '--config', demoConfig]]) {
    const env = { DATABASE_URL: url, EXCHANGE_BASE_URL: 'http://127.0.0.1:1', PARTNER_DATABASE_URL: url }
    const { code, stderr } = await nightferry(folder.path, args, env)
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(new RegExp(`^nightferry: schema_older: .*${stands}.*${newest}.*nightferry migrate`))
  }
  expect(await ask(url, `select name from nightferry.kysely_migration where name = '${newest}'`)).toEqual([])
}, 120_000)

test('an older version on a newer schema says so, whatever the verb, and changes nothing', async () => {
  await using folder = await workingFolder()
  const { url } = await testDatabase({ template: 'migrated' })
  await ask(url, arrive)
  const env = { DATABASE_URL: url, EXCHANGE_BASE_URL: 'http://127.0.0.1:1', PARTNER_DATABASE_URL: url }
  for (const args of [['status'], ['migrate'], ['run', 'nightly-sync', '--config', demoConfig]]) {
    const { code, stderr } = await nightferry(folder.path, args, env)
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(new RegExp(`^nightferry: schema_newer: A newer version .*${future}.*${newest}`))
  }
  expect(await ask(url, 'select from nightferry.run')).toEqual([])
}, 120_000)

const slowMapping: DurationSettings = {
  pendingMs: 0,
  scheduledMs: 0,
  jitter: 0,
  processing: { companyMappings: { baseMs: 3_000, perItemUs: 0 } },
}

test('a process at work stops taking work when a newer version has migrated, and leaves the run to that', async () => {
  await using world = await startWorld({ hotels: 2, durations: slowMapping })
  await using folder = await workingFolder()
  const args = ['run', 'nightly-sync', '--config', demoConfig]
  const older = start(folder.path, args, world.environment())
  await vi.waitFor(async () => {
    const { rows } = await world.pool.query(`select from submission where state = 'accepted'`)
    expect(rows).toHaveLength(1)
  }, patience)
  await world.pool.query(arrive)
  const { code, stderr } = await older.ended
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/^nightferry: schema_newer: /m)
  const { rows } = await world.pool.query('select state, step from run')
  expect(rows).toEqual([{ state: 'running', step: 'push' }])

  await world.pool.query('delete from kysely_migration where name = $1', [future])
  const again = await nightferry(folder.path, args, world.environment())
  expect(again.code, again.stderr).toBe(0)
}, 180_000)
