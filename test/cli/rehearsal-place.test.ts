import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { expect, inject, test } from 'vitest'
import type { Cli } from '../../src/cli/cli.ts'
import type { OpenDatabase } from '../../src/cli/open-database.ts'
import { mirroredWorld, openRehearsalPlace } from '../../src/cli/rehearsal-place.ts'
import { type Config, settings } from '../../src/config/schema.ts'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { sharedSettings } from '../helpers/test-cluster.ts'

const cli: Cli = {
  environment: {},
  workingFolder: tmpdir(),
  stdout: new Writable({ write: (_chunk, _encoding, done) => done() }),
  stderr: new Writable({ write: (_chunk, _encoding, done) => done() }),
  signal: new AbortController().signal,
  now: () => new Date(),
}
const underWay = expect.objectContaining({ code: 'rehearsal_under_way' })

function configNamed(name: string): Config {
  const config = settings.parse({})
  return { ...config, database: { ...config.database, name } }
}

/** The server of the test run, as the embedded one of a ledger. */
async function embeddedServer() {
  const cluster = await openCluster({
    folder: join(inject('postgres').folder, 'postgres'),
    onNotice: () => {},
    settings: sharedSettings,
  })
  const own = { cluster } as OpenDatabase
  return { own, cluster, [Symbol.asyncDispose]: () => cluster.release() }
}

test('two rehearsals that begin on one embedded server: the second is refused while nothing of the first is in its database yet', async () => {
  await using server = await embeddedServer()
  const config = configNamed(`test_${randomBytes(6).toString('hex')}`)
  const first = await openRehearsalPlace(cli, config, server.own, null)
  await expect(openRehearsalPlace(cli, config, server.own, null)).rejects.toEqual(underWay)
  const other = await openRehearsalPlace(cli, configNamed(`${config.database.name}_other`), server.own, null)
  await other.leave(false)
  await first.leave(false)
  await (await openRehearsalPlace(cli, config, server.own, null)).leave(false)
})

test('two rehearsals that name one database: the second is refused while nothing of the first is in it yet', async () => {
  await using empty = await testDatabase({ template: 'empty' })
  const config = configNamed('nightferry')
  const own = { cluster: null } as OpenDatabase
  const first = await openRehearsalPlace(cli, config, own, empty.url)
  const byAnotherName = Object.assign(new URL(empty.url), { hostname: 'localhost' }).href
  await expect(openRehearsalPlace(cli, config, own, byAnotherName)).rejects.toEqual(underWay)
  await first.leave(false)
  await (await openRehearsalPlace(cli, config, own, empty.url)).leave(false)
})

test('a named database is made empty of what a rehearsal left, and of nothing that it did not make or somebody looks at', async () => {
  await using empty = await testDatabase({ template: 'empty' })
  const config = configNamed('nightferry')
  const own = { cluster: null } as OpenDatabase
  const open = () => openRehearsalPlace(cli, config, own, empty.url)
  const inUse = expect.objectContaining({ code: 'rehearsal_database_in_use' })
  const client = new pg.Client({ connectionString: empty.url })
  await client.connect()
  await client.query('create schema sandbox')
  await expect(open()).rejects.toEqual(inUse)
  await client.query('drop schema sandbox')

  await (await open()).leave(true)
  await client.query('create schema nightferry create table kept (n int)')
  await expect(open()).rejects.toEqual(underWay)
  await client.end()
  await (await open()).leave(false)

  const after = new pg.Client({ connectionString: empty.url })
  await after.connect()
  const schemas = await after.query(
    `select nspname from pg_namespace where nspname !~ '^(pg_|information_schema|public)'`,
  )
  await after.end()
  expect(schemas.rows).toEqual([])
})

test('a rehearsal whose hold on its database has ended writes nothing there, and drops nothing of the next one', async () => {
  await using empty = await testDatabase({ template: 'empty' })
  const own = { cluster: null } as OpenDatabase
  const open = () => openRehearsalPlace(cli, configNamed('nightferry'), own, empty.url)
  const first = await open()
  await first.requireHeld()
  const client = new pg.Client({ connectionString: empty.url })
  await client.connect()
  await client.query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where application_name like 'nightferry rehearse (holds%' and datname = current_database()`)
  await client.end()
  await expect(first.requireHeld()).rejects.toEqual(underWay)
  const next = await open()
  await first.leave(false)
  await next.requireHeld()
  const after = new pg.Client({ connectionString: empty.url })
  await after.connect()
  expect((await after.query(`select from pg_namespace where nspname = 'nightferry_rehearsal'`)).rowCount).toBe(1)
  await after.end()
  await next.leave(false)
})

test('a rehearsal for which there is no embedded server says how to name a database, for DATABASE_URL is set already', async () => {
  // A file where a folder would have to be stands for all that keeps the server from running here.
  const folder = join(fileURLToPath(import.meta.url), 'nightferry')
  const config = configNamed('nightferry')
  const unusable = { ...config, database: { ...config.database, folder } }
  const opened = openRehearsalPlace(cli, unusable, { cluster: null } as OpenDatabase, null)
  await expect(opened).rejects.toMatchObject({
    code: 'embedded_postgres_failed',
    message: expect.stringMatching(/^A rehearsal .*--database.*REHEARSAL_DATABASE_URL.*cannot be used/),
  })
  await expect(mirroredWorld(cli, unusable)).rejects.toMatchObject({
    code: 'file_not_accessible',
    message: expect.stringMatching(/--world.*database\.folder/),
  })
})
