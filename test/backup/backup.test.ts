import { createWriteStream } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { afterEach, describe, expect, test } from 'vitest'
import { backupContent, openBackup } from '../../src/backup/backup-file.ts'
import { restoreBackup } from '../../src/backup/restore-backup.ts'
import { readingOf, takeBackup } from '../../src/backup/take-backup.ts'
import { createDatabase, createPool, withSession } from '../../src/db/database.ts'
import { migrateWithin, schemaName } from '../../src/db/migrate-to-latest.ts'
import { requireSchema } from '../../src/db/schema-standing.ts'
import { inOrder, storedTables } from '../../src/db/stored-tables.ts'
import { makeDestination, switchDestination } from '../../src/pipeline/destination/switch-destination.ts'
import { nightferry, workingFolder } from '../cli/nightferry-process.ts'
import { describeSchema } from '../db/describe-schema.ts'
import { testDatabase } from '../helpers/postgres.ts'

let made = new AsyncDisposableStack()
afterEach(async () => {
  await made.disposeAsync()
  made = new AsyncDisposableStack()
})

const signal = new AbortController().signal

async function database(template: 'migrated' | 'empty') {
  const { url } = made.use(await testDatabase({ template }))
  const settings = { max: 3, applicationName: 'nightferry tests', searchPath: schemaName, onIdleError: () => {} }
  const pool = createPool(url, settings)
  made.defer(() => pool.end())
  return { url, pool }
}

const addRun = `insert into run (job, trigger, scheduled_for, state, step) values ('nightly-sync', 'cli', clock_timestamp(), 'finished', 'report')`
const addRow = (hotel: string) =>
  `insert into source_row (stream, partner_id, row_key, content, desired_hash) values ('properties', '${hotel}', '${hotel}', '{"name": "a\\tb\\n\\\\"}', '\\x01')`

/** Every row of every table of the schemas, as text. */
async function rowsOf(pool: ReturnType<typeof createPool>): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname ~ '^nightferry' and schemaname <> 'nightferry_queue' and tablename !~ '^kysely' order by 1`,
  )
  const all: string[] = []
  for (const { name } of tables) {
    const { rows } = await pool.query<{ line: string }>(`select t::text as line from ${name} t order by 1`)
    all.push(...rows.map(({ line }) => `${name} ${line}`))
  }
  return all
}

async function backedUp(pool: ReturnType<typeof createPool>): Promise<{ file: string; folder: string }> {
  const folder = made.use(await workingFolder()).path
  const file = join(folder, 'nightferry.backup')
  await takeBackup(pool, createWriteStream(file), { version: '0.1.0', signal })
  return { file, folder }
}

async function contentOf(file: string): Promise<Buffer> {
  return zstdDecompressSync(await readFile(file))
}

const opened = (content: Buffer) => openBackup(Readable.from([content]))

/** A source with two destinations, each with rows of its own, and numbers that were given out. */
async function filled() {
  const source = await database('migrated')
  await source.pool.query(`${addRun}; ${addRun}; delete from run where run_id = 2; ${addRow('H-1')};
    insert into acceptance (row_id, partner_id, wanted_hash, accepted_hash)
    select row_id, partner_id, desired_hash, desired_hash from source_row`)
  await createDatabase(source.pool)
    .transaction()
    .execute(async (trx) => switchDestination(trx, await makeDestination(trx, 'elsewhere')))
  await source.pool.query(addRow('H-2'))
  return source
}

describe('a backup', () => {
  test('brings all tables of all destinations into an empty database, and the numbers that new rows go on from', async () => {
    const source = await filled()
    const before = await rowsOf(source.pool)
    const { file } = await backedUp(source.pool)
    await source.pool.query(addRow('H-3'))
    const target = await database('empty')
    expect(await restoreBackup(target.pool, await opened(await contentOf(file)), signal)).toBe(before.length)
    expect(await rowsOf(target.pool)).toEqual(before)
    expect(await describeSchema(target.pool, schemaName)).toBe(await describeSchema(source.pool, schemaName))
    const added = `${addRun} returning run_id`
    expect((await target.pool.query(added)).rows).toEqual((await source.pool.query(added)).rows)
    // Triggers work again, and the destination that waits can be put to use.
    await target.pool.query(`update source_row set content = '{}', desired_hash = '\\x02' where partner_id = 'H-1'`)
    expect((await target.pool.query('select from row_change')).rowCount).toBe(1)
    const db = createDatabase(target.pool)
    const first = await db
      .selectFrom('destination')
      .selectAll()
      .where('schema_name', 'is not', null)
      .executeTakeFirstOrThrow()
    await db.transaction().execute((trx) => switchDestination(trx, first))
    expect((await target.pool.query('select from acceptance where accepted_hash is not null')).rowCount).toBe(1)
  })

  test('does not write to the source, and holds one moment while others write', async () => {
    const source = await filled()
    await source.pool.query(
      `alter database ${new URL(source.url).pathname.slice(1)} set default_transaction_read_only = on`,
    )
    const { file } = await backedUp(source.pool)
    const { head } = await opened(await contentOf(file))
    expect(head).toMatchObject({
      version: '0.1.0',
      destination: expect.stringContaining('elsewhere'),
      runUnderWay: null,
    })
    expect(head.tables.length).toBeGreaterThan(60)
  })

  test.each(['a table', 'a schema of ours'])(
    'a backup is refused where the database holds %s, which stays as it is',
    async (what) => {
      const { file } = await backedUp((await filled()).pool)
      const target = await database(what === 'a table' ? 'empty' : 'migrated')
      if (what === 'a table') await target.pool.query('create table public.mine (id int)')
      else await target.pool.query(addRun)
      const restored = restoreBackup(target.pool, await opened(await contentOf(file)), signal)
      await expect(restored).rejects.toMatchObject({ code: 'database_not_empty' })
      if (what === 'a table')
        expect((await target.pool.query(`select to_regnamespace('nightferry') as made`)).rows).toEqual([{ made: null }])
      else expect((await target.pool.query('select from run')).rowCount).toBe(1)
    },
  )

  test('a backup that was changed or cut short leaves nothing behind, wherever that was', async () => {
    const { file } = await backedUp((await filled()).pool)
    const content = await contentOf(file)
    const target = await database('empty')
    const changed = Buffer.from(content)
    const at = content.indexOf('{"name": "a')
    changed.write('b', at + 10)
    const cuts = [10, at, content.length - 200, content.length - 1].map((end) => content.subarray(0, end))
    for (const broken of [changed, ...cuts, Buffer.concat([content, content]), Buffer.from('{}\n'), Buffer.alloc(0)]) {
      const restored = opened(broken).then((backup) => restoreBackup(target.pool, backup, signal))
      await expect(restored).rejects.toMatchObject({ code: 'backup_unusable' })
      expect((await target.pool.query(`select to_regnamespace('nightferry') as made`)).rows).toEqual([{ made: null }])
    }
    expect(await restoreBackup(target.pool, await opened(content), signal)).toBeGreaterThan(0)
  })

  test('a restore that is broken off leaves nothing behind', async () => {
    const { file } = await backedUp((await filled()).pool)
    const content = await contentOf(file)
    const target = await database('empty')
    const stopping = new AbortController()
    async function* half() {
      yield content.subarray(0, content.indexOf('{"name": "a'))
      stopping.abort(new Error('told to end'))
      throw stopping.signal.reason
    }
    const restored = restoreBackup(target.pool, await openBackup(half()), stopping.signal)
    await expect(restored).rejects.toThrow('told to end')
    expect((await target.pool.query(`select to_regnamespace('nightferry') as made`)).rows).toEqual([{ made: null }])
    expect(await restoreBackup(target.pool, await opened(content), signal)).toBeGreaterThan(0)
  })

  test('a backup of an older version is brought to the newest schema with what it holds', async () => {
    const source = await database('empty')
    await withSession(source.pool, async ({ db }) =>
      db.transaction().execute((trx) => migrateWithin(trx, { to: '0040-shown-and-spelled' })),
    )
    await source.pool.query(`${addRun}; ${addRow('H-1')}`)
    const client = await source.pool.connect()
    made.defer(() => client.release())
    const tables = inOrder(await storedTables(client, schemaName)).map(({ name, columns }) => {
      const numbers = name === 'run' ? [{ column: 'run_id', last: '41' }] : []
      return { schema: schemaName, name, columns, numbers }
    })
    const about = { version: '0.0.9', migration: '0040-shown-and-spelled', destination: 'first', runUnderWay: null }
    const head = { ...about, takenAt: '2026-11-01T04:00:00.000Z', tables }
    const content = await buffer(Readable.from(backupContent(head, (table) => readingOf(client, table))))
    const target = await database('empty')
    await restoreBackup(target.pool, await opened(content), signal)
    await requireSchema(createDatabase(target.pool))
    const rows = 'select partner_id, content from source_row'
    expect((await target.pool.query(rows)).rows).toEqual((await source.pool.query(rows)).rows)
    expect((await target.pool.query(`${addRun} returning run_id`)).rows).toEqual([{ run_id: 42 }])
  })

  test('a backup of a newer version is refused with its name', async () => {
    const { file } = await backedUp((await filled()).pool)
    const content = (await contentOf(file)).toString('latin1')
    const target = await database('empty')
    const migration = content.replace(/"migration":"[^"]*"/, '"migration":"9999-later"').replace('"0.1.0"', '"7.0.0"')
    const form = content.replace('"nightferryBackup":1', '"nightferryBackup":2').replace('"0.1.0"', '"7.0.0"')
    for (const newer of [migration, form]) {
      const restored = opened(Buffer.from(newer, 'latin1')).then((backup) => restoreBackup(target.pool, backup, signal))
      await expect(restored).rejects.toMatchObject({ code: 'backup_newer', message: expect.stringContaining('7.0.0') })
    }
  })
})

describe('nightferry backup', () => {
  test('nightferry backup writes a file that only its owner reads, and nightferry restore-backup loads it', async () => {
    const [source, target] = [await filled(), await database('empty')]
    const { path } = made.use(await workingFolder())
    const taken = await nightferry(path, ['backup', '--out', 'b', '--json'], { DATABASE_URL: source.url })
    expect(taken).toMatchObject({ code: 0 })
    const told = JSON.parse(taken.stdout)
    const { size, mode } = await stat(join(path, 'b'))
    expect(mode & 0o777).toBe(0o600)
    expect(told).toMatchObject({ bytes: size, leftOut: [], rows: (await rowsOf(source.pool)).length })
    const again = await nightferry(path, ['backup', '--out', 'b'], { DATABASE_URL: source.url })
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') })
    const restored = await nightferry(path, ['restore-backup', 'b'], { DATABASE_URL: target.url })
    expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('Restored') })
    expect(await rowsOf(target.pool)).toEqual(await rowsOf(source.pool))
    const twice = await nightferry(path, ['restore-backup', 'b'], { DATABASE_URL: target.url })
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('database_not_empty') })
  })

  test('nightferry restore-backup refuses a file that is no backup, compressed or not', async () => {
    const target = await database('empty')
    const { path } = made.use(await workingFolder())
    await writeFile(join(path, 'plain'), 'PGDMP')
    await writeFile(join(path, 'packed'), zstdCompressSync('PGDMP'))
    for (const name of ['plain', 'packed']) {
      const ended = await nightferry(path, ['restore-backup', name], { DATABASE_URL: target.url })
      expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('backup_unusable') })
    }
    const gone = await nightferry(path, ['restore-backup', 'gone'], { DATABASE_URL: target.url })
    expect(gone).toMatchObject({ code: 2 })
  })
})
