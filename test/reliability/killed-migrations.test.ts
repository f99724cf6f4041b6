import { once } from 'node:events'
import { Migrator } from 'kysely/migration'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { migrations } from '../../src/db/migrations/index.ts'
import { type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { describeSchema } from '../db/describe-schema.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { ofSize } from './small-night.ts'

const names = Object.keys(migrations)
const points = ofSize({ XS: 5, S: 12, M: 60, L: 300 })

/** Schemas from an empty database to that before the newest, and instants within what is left to migrate. */
const places = Array.from({ length: points }, (_, index) => ({
  from: names[Math.floor((index * names.length) / points) - 1] ?? 'nothing',
  share: ((index * 7) % points) / points,
}))

let folder: Awaited<ReturnType<typeof workingFolder>>
let whole: string

beforeAll(async () => {
  folder = await workingFolder()
  whole = (await schemaOf((await testDatabase({ template: 'migrated' })).url)).text
})
afterAll(() => folder[Symbol.asyncDispose]())

/** The schema as the catalogue has it, and the migrations that are noted. */
async function schemaOf(url: string): Promise<{ text: string; noted: string[] }> {
  const pool = createPool(url, {
    max: 1,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError() {},
  })
  try {
    const { rows } = await pool.query<{ name: string }>('select name from kysely_migration order by name')
    return { text: await describeSchema(pool, schemaName), noted: rows.map(({ name }) => name) }
  } finally {
    await pool.end()
  }
}

async function migratedTo(name: string): Promise<string> {
  const { url } = await testDatabase({ template: 'empty' })
  if (name === 'nothing') return url
  const pool = createPool(url, {
    max: 1,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError() {},
  })
  await pool.query(`create schema ${schemaName}`)
  const db = createDatabase<unknown>(pool)
  const provider = { getMigrations: async () => migrations }
  const { error } = await new Migrator({ db, provider, migrationTableSchema: schemaName }).migrateTo(name)
  await db.destroy()
  if (error !== undefined) throw new Error(`migrating to ${name} failed`, { cause: error })
  return url
}

it.each(places)(
  'a migration from $from that is killed at $share of its statements is finished by the next one',
  async ({ from, share }) => {
    const counted = await migratedTo(from)
    await using counting = await openDatabaseProxy(counted, () => 'pass')
    const undisturbed = await start(folder.path, ['migrate'], { DATABASE_URL: counting.url }).ended
    expect(undisturbed, undisturbed.stderr).toMatchObject({ code: 0 })
    const nth = Math.max(1, Math.ceil(share * counting.statements()))

    const url = await migratedTo(from)
    let victim: Running | undefined
    let killed = false
    await using proxy = await openDatabaseProxy(url, (passing) => {
      if (killed) return 'cut'
      if (passing.what !== 'statement' || passing.nth < nth) return 'pass'
      killed = true
      victim?.child.kill('SIGKILL')
      return 'cut'
    })
    victim = start(folder.path, ['migrate'], { DATABASE_URL: proxy.url })
    if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
    expect(victim.child.signalCode).toBe('SIGKILL')
    const next = await start(folder.path, ['migrate'], { DATABASE_URL: url }).ended
    expect(next, next.stderr).toMatchObject({ code: 0 })
    const { text, noted } = await schemaOf(url)
    expect(noted).toEqual(names)
    expect(text).toBe(whole)
  },
)
