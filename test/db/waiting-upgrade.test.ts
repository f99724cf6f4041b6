import { Migrator } from 'kysely/migration'
import type pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { createDatabase, createPool, type Database } from '../../src/db/database.ts'
import { migrateToLatest, schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { destinationSchemas } from '../../src/db/schema-standing.ts'
import { allDestinations } from '../../src/pipeline/destination/find-destination.ts'
import { makeDestination, switchDestination } from '../../src/pipeline/destination/switch-destination.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { describeSchema } from './describe-schema.ts'

/** The last schema before a migration that changed the tables of the destination in use alone. */
const lastOfEqualShapes = '0039-unknown-tasks'
const lastOfUnequalShapes = '0042-job-schedules'

async function open(template: 'empty' | 'migrated') {
  const { url } = await testDatabase({ template })
  const pool = createPool(url, {
    max: 1,
    applicationName: 'upgrade test',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  onTestFinished(() => pool.end())
  return { url, pool, db: createDatabase(pool) }
}

/** What the catalogue says of each table, view and function of a schema, as if it were that of the one in use. */
async function shapesOf(pool: pg.Pool, schema: string): Promise<string[]> {
  // Every name is told with its schema.
  await pool.query('set search_path = public')
  const told = await describeSchema(pool, schema)
  await pool.query(`set search_path = ${schemaName}`)
  return told
    .replaceAll(`${schema}.`, `${schemaName}.`)
    .split('\n\n')
    .map((text) => text.trim())
}

async function migrateTo(db: Database, name: string): Promise<void> {
  const provider = { getMigrations: async () => migrations }
  const { error } = await new Migrator({ db, provider, migrationTableSchema: schemaName }).migrateTo(name)
  if (error !== undefined) throw new Error(`migrating to ${name} failed`, { cause: error })
}

/** Puts a destination to use by its name, and makes it where there is none. */
async function use(db: Database, name: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const known = (await allDestinations(trx)).find((one) => one.name === name)
    await switchDestination(trx, known ?? (await makeDestination(trx, name)))
  })
}

it('the shape of a destination that waited during an upgrade is that of one that was in use', async () => {
  const { url, pool, db } = await open('empty')
  await pool.query(`create schema ${schemaName}`)
  await migrateTo(db, lastOfEqualShapes)
  await use(db, 'second')
  await migrateTo(db, lastOfUnequalShapes)
  // What waited is put back to use as it was left, and the third is made like it.
  await use(db, 'first')
  await use(db, 'third')
  await migrateToLatest(url)

  const made = await shapesOf((await open('migrated')).pool, schemaName)
  expect(await shapesOf(pool, schemaName)).toEqual(made)
  const waiting = (await destinationSchemas(db)).filter((schema) => schema !== schemaName)
  expect(waiting).toHaveLength(2)
  for (const schema of waiting) {
    const own = await shapesOf(pool, schema)
    expect(own.length).toBeGreaterThan(40)
    expect(own.filter((shape) => !made.includes(shape))).toEqual([])
  }
})

it('a destination that waits since before its tables were whole is not put to use, and the words say what is missing', async () => {
  const { url, pool, db } = await open('empty')
  await pool.query(`create schema ${schemaName}`)
  await migrateTo(db, '0015-destinations')
  await use(db, 'second')
  await migrateToLatest(url)
  await expect(use(db, 'first')).rejects.toMatchObject({
    code: 'destination_outdated',
    message: expect.stringContaining('unrenewed_part'),
  })
})

it.each(['0022-own-database', '0023-held-rows', '0025-standing-differences', '0033-deadlines'])(
  'a ledger of the schema %s is upgraded although its dump left out a destination that waits',
  async (schema) => {
    const { url, pool, db } = await open('empty')
    await pool.query(`create schema ${schemaName}`)
    await migrateTo(db, schema)
    await use(db, 'second')
    await pool.query('drop schema nightferry_destination_1 cascade')
    await migrateToLatest(url)
    expect(await destinationSchemas(db)).toEqual([schemaName])
    await use(db, 'first')
    expect(await destinationSchemas(db)).toHaveLength(2)
  },
)

it('a destination that waits since before somebody made a view or table in the schema is put to use without them', async () => {
  const { pool, db } = await open('migrated')
  const [first] = await allDestinations(db)
  await use(db, 'second')
  await pool.query(`create view ${schemaName}.unmapped as select partner_id from ${schemaName}.ledger`)
  await pool.query(`create table ${schemaName}.remarks (partner_id text)`)
  const theirs = async () => {
    const { rows } = await pool.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = '${schemaName}'::regnamespace
         and relname in ('unmapped', 'remarks') order by relname`,
    )
    return rows.map(({ name }) => name)
  }
  await use(db, first?.name ?? '')
  expect(await theirs()).toEqual([])
  await use(db, 'second')
  expect(await theirs()).toEqual(['remarks', 'unmapped'])
})

it('a destination that waits without a view of ours is not put to use', async () => {
  const { pool, db } = await open('migrated')
  const [first] = await allDestinations(db)
  await use(db, 'second')
  const [waiting] = (await destinationSchemas(db)).filter((schema) => schema !== schemaName)
  await pool.query(`drop view ${waiting}.drift`)
  await expect(use(db, first?.name ?? '')).rejects.toMatchObject({
    code: 'destination_outdated',
    message: expect.stringContaining('without drift.'),
  })
})
