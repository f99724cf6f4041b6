import { expect, it, onTestFinished } from 'vitest'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { migrateToLatest, migrateWithin } from '../../src/db/migrate-to-latest.ts'
import type { Schema } from '../../src/db/tables/database-schema.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'

const beside = await ofThisFile(testDatabase({ template: 'empty' }))

const pool = (url: string) =>
  createPool(url, { max: 1, applicationName: 'nightferry tests', searchPath: 'public', onIdleError: () => {} })

/** A database as an administrator may have made it, in an encoding that lacks letters. */
async function latinDatabase(): Promise<string> {
  const name = `${beside.name}_latin`
  const administrator = pool(beside.url)
  await administrator.query(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  onTestFinished(async () => {
    await administrator.query(`drop database ${name} with (force)`)
    await administrator.end()
  })
  return Object.assign(new URL(beside.url), { pathname: `/${name}` }).href
}

const refusal = {
  code: 'database_encoding',
  message: expect.stringMatching(/^The database \w+_latin is in LATIN1, .*createdb --encoding=UTF8 .*restore-backup/),
}

it('a database that is not in UTF-8 is refused before anything is made in it, also by a restore', async () => {
  const url = await latinDatabase()
  await expect(migrateToLatest(url)).rejects.toMatchObject(refusal)
  const own = pool(url)
  try {
    const restore = createDatabase<Schema>(own)
      .transaction()
      .execute((trx) => migrateWithin(trx, {}))
    await expect(restore).rejects.toMatchObject(refusal)
    const { rows } = await own.query(`select from pg_namespace where nspname ~ '^nightferry'`)
    expect(rows).toEqual([])
  } finally {
    await own.end()
  }
})
