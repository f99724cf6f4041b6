import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { zstdDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openBackup } from '../../src/backup/backup-file.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { takeBackup } from '../../src/backup/take-backup.ts'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { makeDestination, switchDestination } from '../../src/pipeline/destination/switch-destination.ts'
import { workingFolder } from '../cli/nightferry-process.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { testDatabase } from '../helpers/postgres.ts'

const signal = new AbortController().signal

async function database(template: 'migrated' | 'empty') {
  const { url } = await ofThisFile(testDatabase({ template }))
  const settings = { max: 3, applicationName: 'nightferry tests', searchPath: schemaName, onIdleError: () => {} }
  const pool = createPool(url, settings)
  await ofThisFile(Promise.resolve({ close: () => pool.end() }))
  return pool
}

const source = await database('migrated')
const target = await database('empty')
const folder = await ofThisFile(workingFolder())

test('a backup that begins while another destination is put to use waits for that, and holds the rows of both', async () => {
  await source.query(`
    insert into source_row (stream, partner_id, row_key, content, desired_hash)
      values ('properties', 'H-1', 'H-1', '{}', '\\x01');
    insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash)
      select row_id, partner_id, desired_hash, desired_hash from source_row`)
  const file = join(folder.path, 'nightferry.backup')
  const { promise: switched, resolve: tell } = Promise.withResolvers<void>()
  const { promise: may, resolve: goOn } = Promise.withResolvers<void>()
  const switching = createDatabase(source)
    .transaction()
    .execute(async (trx) => {
      await switchDestination(trx, await makeDestination(trx, 'elsewhere'))
      tell()
      await may
    })
  await switched
  const taking = takeBackup(source, createWriteStream(file), { version: '0.1.0', signal })
  await expect
    .poll(async () => {
      const { rows } = await source.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length
    })
    .toBe(1)
  goOn()
  await switching
  expect(await taking).toMatchObject({ destination: 'elsewhere' })
  const content = zstdDecompressSync(await readFile(file))
  await restoreBackup(target, await openBackup(Readable.from([content])), signal)
  const accepted = async (pool: typeof source) => {
    const { rows } = await pool.query<{ schema_name: string }>(
      'select schema_name from destination where schema_name is not null',
    )
    const waiting = await pool.query(`select from ${rows[0]?.schema_name}.acceptance where accepted_hash is not null`)
    const inUse = await pool.query('select from acceptance')
    return { waiting: waiting.rowCount, inUse: inUse.rowCount }
  }
  expect(await accepted(source)).toEqual({ waiting: 1, inUse: 1 })
  expect(await accepted(target)).toEqual({ waiting: 1, inUse: 1 })
})
