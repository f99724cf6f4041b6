import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { createPool } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { describeSchema } from './describe-schema.ts'

const names = Object.keys(migrations)
const regenerate = 'npx vitest run test/db/migrations.test.ts --update'

async function database(template: 'empty' | 'migrated') {
  const { url } = await testDatabase({ template })
  const pool = createPool(url, { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError() {} })
  onTestFinished(() => pool.end())
  return { url, pool, describe: () => describeSchema(pool, schemaName) }
}

test('the list of migrations names every file of the folder, in order, and nothing else', () => {
  const folder = fileURLToPath(new URL('../../src/db/migrations', import.meta.url))
  const files = readdirSync(folder).filter((name) => name !== 'index.ts')
  expect(names.map((name) => `${name}.ts`)).toEqual(files.sort())
  expect(names).toEqual(names.toSorted())
})

test('the migrations make the schema that test/db/schema.txt shows', async () => {
  const { describe } = await database('migrated')
  const head = `-- What the migrations make, as the catalogue tells it. After a new migration: ${regenerate}\n\n`
  await expect(head + (await describe()), `test/db/schema.txt is stale: ${regenerate}`).toMatchFileSnapshot(
    'schema.txt',
  )
})

test('migrating a second time applies nothing and changes nothing', async () => {
  const { url, describe } = await database('empty')
  expect(await migrateToLatest(url)).toEqual(names.map((name) => ({ name, applied: true })))
  const once = await describe()
  expect(await migrateToLatest(url)).toEqual(names.map((name) => ({ name, applied: false })))
  expect(await describe()).toBe(once)
})

test('of three processes that migrate at once, each migration is applied by exactly one', async () => {
  const { url, describe } = await database('empty')
  await using folder = await workingFolder()
  const ended = await Promise.all(
    [1, 2, 3].map(() => nightferry(folder.path, ['migrate', '--json'], { DATABASE_URL: url })),
  )
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(Array(3).fill({ code: 0, stderr: '' }))
  const applied = ended
    .flatMap(({ stdout }) => JSON.parse(stdout) as { name: string; applied: boolean }[])
    .filter((migration) => migration.applied)
    .map(({ name }) => name)
  expect(applied.sort()).toEqual(names)
  expect(await describe()).toBe(await (await database('migrated')).describe())
})

test('a migration that fails leaves the database as it was, and is named', async () => {
  const { url, pool, describe } = await database('empty')
  await pool.query(`create schema nightferry; create table nightferry.calculator (in_the_way boolean)`)
  const before = await describe()
  await expect(migrateToLatest(url)).rejects.toMatchObject({
    code: 'migration_failed',
    message: expect.stringMatching(/^0002-calculators failed: .*"calculator" already exists/),
  })
  expect(await describe()).toBe(before)
})
