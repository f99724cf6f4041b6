import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { withRemedy } from '../../src/db/database-trouble.ts'
import { lockDemo } from '../../src/demo/lock-demo.ts'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }
const nobody = {
  EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
  PARTNER_DATABASE_URL: 'postgres://reader@127.0.0.1:1/hotels',
}

async function client(url: string, name = 'test'): Promise<pg.Client> {
  const made = new pg.Client({ connectionString: url, application_name: name })
  made.on('error', () => {})
  await made.connect()
  onTestFinished(() => made.end().catch(() => {}))
  return made
}

/** A database and a role of its own that may connect to it, with what `clauses` say of the role. */
async function ownRole(clauses: string, owner: boolean): Promise<{ url: string; role: string; adminUrl: string }> {
  const { url, name } = await testDatabase({ template: 'empty' })
  const role = `role_of_${name}`
  const { adminUrl } = inject('postgres')
  await ask(adminUrl, `create role ${role} login password 'secret' ${clauses}`)
  if (owner) await ask(adminUrl, `alter database ${name} owner to ${role}`)
  onTestFinished(async () => {
    const admin = await client(url)
    await admin.query(`reassign owned by ${role} to current_user`)
    await admin.query(`drop owned by ${role}`)
    await ask(adminUrl, `alter database ${name} owner to current_user`)
    await ask(adminUrl, `drop role ${role}`)
  })
  const as = new URL(url)
  as.username = role
  as.password = 'secret'
  return { url: as.href, role, adminUrl: url }
}

test.each([
  ['53300', 'database_connections_exhausted', /max_connections/],
  ['42501', 'database_permission_denied', /grant create on database/],
  ['53100', 'disk_full', /Free space/],
  ['53200', 'database_out_of_memory', /memory/],
  ['57P03', 'database_not_ready', /Wait until/],
  ['57P01', 'database_unreachable', /server is up/],
  ['08006', 'database_unreachable', /server is up/],
  ['25006', 'database_read_only', /primary/],
  ['40001', 'database_conflict', /again/],
  ['40P01', 'database_conflict', /again/],
  ['57014', 'database_interrupted', /log/],
  ['25P03', 'database_interrupted', /pooler/],
  ['25P04', 'database_interrupted', /pooler/],
])('a server that refuses with %s is told of as %s, in its words and with what to do', async (state, code, remedy) => {
  const { url } = await testDatabase()
  const server = await client(url)
  const refused: unknown = await server
    .query(`do $$ begin raise exception using errcode = '${state}', message = 'the words of the server'; end $$`)
    .catch((error: unknown) => error)
  expect(refused).toMatchObject({ code: state })
  const told = withRemedy(refused)
  expect(told).toMatchObject({ code, message: expect.stringMatching(/^the words of the server\. /), cause: refused })
  expect((told as Error).message).toMatch(remedy)
})

test('a connection that is cut is told of as a database that cannot be reached; a wrong query is left as it is', async () => {
  const { url } = await testDatabase()
  const [victim, other] = [await client(url), await client(url)]
  const { rows } = await victim.query<{ pid: number }>('select pg_backend_pid() as pid')
  const sleeping = victim.query('select pg_sleep(60)').catch((error: unknown) => error)
  await other.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  expect(withRemedy(await sleeping)).toMatchObject({ code: 'database_unreachable' })
  const nowhere = new pg.Client({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
  expect(withRemedy(await nowhere.connect().catch((error: unknown) => error))).toMatchObject({
    code: 'database_unreachable',
  })
  const wrong: unknown = await other.query('select nothing').catch((error: unknown) => error)
  expect(withRemedy(wrong)).toBe(wrong)
  const own = Object.assign(new Error('ours'), { code: 'usage' })
  expect(withRemedy(own)).toBe(own)
})

test.each([
  ['53300', 'database_connections_exhausted'],
  ['53100', 'disk_full'],
  ['57P03', 'database_not_ready'],
])(
  'a run that its server refuses with %s is told of as %s, with what to do',
  async (state, code) => {
    await using folder = await workingFolder()
    const { url } = await testDatabase({ template: 'migrated' })
    await ask(
      url,
      `create function nightferry.refuse() returns trigger language plpgsql as
     $$ begin raise exception using errcode = '${state}', message = 'the words of the server'; end $$`,
    )
    await ask(url, 'create trigger refused before insert on nightferry.run execute function nightferry.refuse()')
    const ended = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], {
      ...nobody,
      DATABASE_URL: url,
    })
    expect(ended.code, ended.stderr).toBe(1)
    expect(ended.stderr).toMatch(new RegExp(`^nightferry: ${code}: the words of the server\\. [A-Z]`, 'm'))
  },
  60_000,
)

test('a run whose server goes away is told that it cannot be reached, where it was and what to do', async () => {
  await using place = await clusterFolder()
  const cluster = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  await cluster.ensureDatabase('own')
  const durations = { pendingMs: 0, scheduledMs: 0, jitter: 0, processing: { companyMappings: { baseMs: 600_000 } } }
  await using world = await startWorld({ hotels: 2, durations })
  const run = start(place.parent, ['run', 'nightly-sync', '--config', demoConfig], {
    ...world.environment(),
    DATABASE_URL: cluster.url('own'),
  })
  const waits = `select count(*)::integer as waiting from nightferry.submission where state = 'accepted'`
  await vi.waitFor(
    async () => expect(await ask(cluster.url('own'), waits).catch(() => [])).toEqual([{ waiting: 1 }]),
    patience,
  )
  process.kill((await runningPostmaster(place.data))?.pid ?? 0, 'SIGKILL')
  const { code, stderr } = await run.ended
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/^nightferry: database_unreachable: .* Check that the server is up/m)
  await cluster.release()
}, 180_000)

test('a role without the right to make a schema is told which right it needs', async () => {
  await using folder = await workingFolder()
  const { url } = await ownRole('', false)
  const { code, stderr } = await nightferry(folder.path, ['migrate'], { DATABASE_URL: url })
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/^nightferry: database_permission_denied: permission denied for database .*grant create on/)
}, 60_000)

test('a role with fewer connections than a run may need is told how many, before anything begins', async () => {
  await using folder = await workingFolder()
  const { url, adminUrl } = await ownRole('connection limit 12', true)
  const { code, stderr } = await nightferry(folder.path, ['run', 'nightly-sync', '--config', demoConfig], {
    ...nobody,
    DATABASE_URL: url,
  })
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(
    /^nightferry: database_connections_short: With engine\.submissionsAtOnce 4 and pull\.pagesAtOnce 2 .* up to 27 connections .* allows 12\. Raise/m,
  )
  expect(await ask(adminUrl, 'select from nightferry.run')).toEqual([])
}, 60_000)

test('a server that has no connection left is told of with its place and what to do', async () => {
  await using folder = await workingFolder()
  const { url } = await ownRole('connection limit 0', true)
  const { code, stderr } = await nightferry(folder.path, ['status'], { DATABASE_URL: url })
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/^nightferry: database_connections_exhausted: .*127\.0\.0\.1.*too many connections.*Raise/)
  expect(stderr).not.toContain('secret')
}, 60_000)

test('a database that is read only is told of by migrate', async () => {
  await using folder = await workingFolder()
  const { url, name } = await testDatabase({ template: 'empty' })
  await ask(url, `alter database ${name} set default_transaction_read_only = on`)
  const { code, stderr } = await nightferry(folder.path, ['migrate'], { DATABASE_URL: url })
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/^nightferry: database_read_only: .*Set DATABASE_URL to the primary/)
}, 60_000)

test('a verb waits for a server that recovers, says so, and goes on when it is there', async () => {
  await using place = await clusterFolder()
  const made = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  const url = made.url('postgres')
  await made.release()
  // A standby that lets nobody in answers as a server that replays its log does, for as long as the test wants.
  await writeFile(join(place.data, 'standby.signal'), '')
  await chmod(join(place.data, 'standby.signal'), 0o644)
  const standby = await openCluster({
    folder: place.folder,
    onNotice: () => {},
    settings: { ...fastSettings, hot_standby: 'off' },
  })
  const migrating = start(place.parent, ['migrate'], { DATABASE_URL: standby.url('postgres') })
  await vi.waitFor(
    () => expect(migrating.stderr()).toContain('Waiting for the database server: the database'),
    patience,
  )
  await writeFile(join(place.data, 'promote'), '')
  process.kill((await runningPostmaster(place.data))?.pid ?? 0, 'SIGUSR1')
  const { code, stderr } = await migrating.ended
  expect(code, stderr).toBe(0)
  expect(url).toBe(standby.url('postgres'))
  await standby.release()
}, 120_000)

test('a folder that cannot be written is named, with the setting that chooses another', async () => {
  await using folder = await workingFolder()
  await writeFile(join(folder.path, 'a-file'), '')
  const args = ['status', '--set', `database.folder=${join(folder.path, 'a-file')}`]
  const { code, stderr } = await nightferry(folder.path, args)
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(
    /^nightferry: embedded_postgres_failed: .*a-file\/postgres, cannot be used: .*database\.folder/,
  )
}, 60_000)

test('a second demo in the same folder is told so, and leaves the databases of the first alone', async () => {
  await using place = await clusterFolder()
  await mkdir(join(place.parent, '.nightferry'))
  const cluster = await openCluster({
    folder: join(place.parent, '.nightferry', 'postgres'),
    onNotice: () => {},
    settings: fastSettings,
  })
  await cluster.ensureDatabase('partner_demo')
  // What the first demo holds, without its work: that would leave a busy machine nothing for the second.
  const first = await lockDemo(cluster.url('postgres'), [], new AbortController().signal)
  const second = await nightferry(place.parent, ['demo', '--hotels', '2'])
  expect(second.code, second.stderr).toBe(1)
  expect(second.stderr).toMatch(
    new RegExp(`nightferry: demo_in_use: A demo is at work .*process ${process.pid}.*another folder`),
  )
  expect(await ask(cluster.url('partner_demo'), 'select 1 as one')).toEqual([{ one: 1 }])
  await first[Symbol.asyncDispose]()
  await cluster.release()
}, 120_000)

test('the demo says who uses its databases, and does not make them new under them', async () => {
  await using place = await clusterFolder()
  await mkdir(join(place.parent, '.nightferry'))
  const cluster = await openCluster({
    folder: join(place.parent, '.nightferry', 'postgres'),
    onNotice: () => {},
    settings: fastSettings,
  })
  await cluster.ensureDatabase('nightferry_demo')
  const analyst = await client(cluster.url('nightferry_demo'), 'an analyst')
  await analyst.query('create table kept (n int)')
  const { code, stderr } = await nightferry(place.parent, ['demo', '--hotels', '2'])
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/nightferry: demo_in_use: .*in use by an analyst \(nightferry_demo\)/)
  expect((await analyst.query('select from kept')).rows).toEqual([])
  await analyst.end()
  await cluster.release()
}, 120_000)
