import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { applySecondNight } from '../../src/demo/partner/second-night.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { readPage, section } from '../docs/pages.ts'
import { type FinalTables, finalTables } from '../helpers/final-tables.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { ask, startDebianServer } from './debian-server.ts'
import { debianPostgres } from './programs.ts'

const run = ['run', 'nightly-sync', '--json', '--config', demoConfig]
const hotels = 5

const server = await ofThisFile(startDebianServer())
const folder = await ofThisFile(workingFolder())

async function tablesAt(url: string): Promise<FinalTables> {
  const pool = createPool(url, { max: 1, applicationName: 'tests', searchPath: schemaName, onIdleError: () => {} })
  try {
    return await finalTables(pool)
  } finally {
    await pool.end()
  }
}

/** The options of a command of docs/operations.md that are the same for everyone. */
function documentedOptions(program: string): string[] {
  const lines = section(readPage('docs/operations.md'), 'Backup and restore').split('\n')
  const command = lines.find((line) => line.startsWith(`${program} `)) ?? ''
  const options = command.split(' ').filter((word) => /^--(?!file|dbname)/.test(word))
  if (options.length === 0) throw new Error(`docs/operations.md shows no ${program}`)
  return options.map((option) => option.replaceAll("'", ''))
}

test(`two nights leave on the PostgreSQL of the distribution what they leave on the embedded one, and it is another version`, async () => {
  expect(debianPostgres().major).toBeLessThan(18)
  await ask(server.url('postgres'), 'create database nights')
  await using embedded = await startWorld({ hotels })
  await using older = await startWorld({ hotels })
  const places = [
    { world: embedded, environment: embedded.environment() },
    { world: older, environment: { ...older.environment(), DATABASE_URL: server.url('nights') } },
  ]
  for (const { world, environment } of places) {
    const first = await nightferry(folder.path, run, environment)
    expect([0, 3], first.stderr).toContain(first.code)
    await applySecondNight(world.partnerPool, { hotels, seed: 7, asOf: new Date() })
    const second = await nightferry(folder.path, run, environment)
    expect(second.code, second.stderr).toBe(3)
  }
  const tables = await tablesAt(server.url('nights'))
  expect(tables.calculator_values?.rows).toBeGreaterThan(200)
  expect(tables).toEqual(await finalTables(embedded.pool))
})

test('a dump of its schemas, restored into an empty database, goes on with nothing but what its report says', async () => {
  // A server that has none of the roles, as after the loss of the other.
  await using other = await startDebianServer()
  await ask(server.url('postgres'), 'create database before')
  await ask(other.url('postgres'), 'create database after')
  await using world = await startWorld({ hotels })
  const before = server.url('before')
  const after = other.url('after')
  const at = (url: string) => ({ ...world.environment(), DATABASE_URL: url })
  const first = await nightferry(folder.path, run, at(before))
  expect([0, 3], first.stderr).toContain(first.code)
  await ask(server.url('postgres'), 'create role analyst')
  for (const granting of [
    ['sql', 'select 1'],
    ['grant', 'analyst'],
  ]) {
    const ended = await nightferry(folder.path, [...granting, '--config', demoConfig], at(before))
    expect(ended, ended.stderr).toMatchObject({ code: 0 })
  }

  const file = join(server.folder, 'nightferry.dump')
  await server.run('pg_dump', ...documentedOptions('pg_dump'), `--file=${file}`, before)
  await server.run('pg_restore', ...documentedOptions('pg_restore'), `--dbname=${after}`, file)
  expect(await tablesAt(after)).toEqual(await tablesAt(before))
  const next = await nightferry(folder.path, run, at(after))
  expect([0, 3], next.stderr).toContain(next.code)
  expect(next.stdout).toContain('another copy')
  expect((await tablesAt(after)).calculator_values).toEqual((await tablesAt(before)).calculator_values)
})
