import { once } from 'node:events'
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { type RunningSandbox, startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { patience } from '../helpers/patience.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { mapHotels } from './bodies.ts'
import { contract, seed } from './open-sandbox.ts'

const lockedBy = `select pid from pg_locks join pg_database d on d.oid = database
                  where locktype = 'advisory' and granted and datname = current_database()`

async function open(databaseUrl: string): Promise<RunningSandbox & AsyncDisposable> {
  const sandbox = await startSandbox({ databaseUrl, contract, port: 0, seed, companies: 3 })
  return { ...sandbox, [Symbol.asyncDispose]: () => sandbox.close() }
}

async function connect(url: string): Promise<pg.Client & AsyncDisposable> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end() })
}

async function call<Answer>({ url }: RunningSandbox, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url + path, {
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  return (await response.json()) as Answer
}

/** What the service says of itself: 200, or the errorCode of its refusal, or nothing when nobody listens. */
async function answerOf({ url }: RunningSandbox): Promise<unknown> {
  const response = await fetch(`${url}/api/v1/unit-types`, { headers: { authorization: 'demo-key' } }).catch(() => null)
  if (response === null) return null
  const body = (await response.json()) as { errorCode?: string }
  return response.status === 200 ? 200 : body.errorCode
}

it('a second sandbox on one database is refused at once, and may begin when the first has closed', async () => {
  await using database = await testDatabase({ template: 'empty' })
  {
    await using first = await open(database.url)
    await expect(open(database.url)).rejects.toMatchObject({ code: 'sandbox_already_running' })
    expect(await answerOf(first)).toBe(200)
  }
  await using second = await open(database.url)
  expect(await answerOf(second)).toBe(200)
})

it('the sandbox stops serving when it loses its lock on the database, and goes on when it has it back', async () => {
  await using database = await testDatabase({ template: 'empty' })
  await using sandbox = await open(database.url)
  await using admin = await connect(database.url)
  // A superuser passes any limit; only a database without connections keeps it out.
  await using elsewhere = await connect(new URL('/postgres', database.url).href)
  const allow = (allowed: boolean) =>
    elsewhere.query(`alter database ${elsewhere.escapeIdentifier(database.name)} with allow_connections ${allowed}`)
  await allow(false)
  try {
    await admin.query(`select pg_terminate_backend(pid) from (${lockedBy}) as holder`)
    await vi.waitFor(async () => expect(await answerOf(sandbox)).toBe('database_lost'), patience)
  } finally {
    await allow(true)
  }
  await vi.waitFor(async () => expect(await answerOf(sandbox)).toBe(200), { timeout: 60_000 })
  expect(sandbox.lost.aborted).toBe(false)
})

it('the sandbox seeks the lock that it lost only once what it was storing has ended, so that no task is worked on twice', async () => {
  await using database = await testDatabase({ template: 'empty' })
  await using sandbox = await open(database.url)
  await using admin = await connect(database.url)
  await using blocker = await connect(database.url)
  await blocker.query('begin; lock table sandbox.identifier in access exclusive mode')
  const { correlationId } = await call<{ correlationId: string }>(
    sandbox,
    '/api/v1/bulk/company-mappings',
    mapHotels(1),
  )
  const waiting = `select from pg_locks where relation = 'sandbox.identifier'::regclass and not granted`
  await vi.waitFor(async () => expect((await admin.query(waiting)).rows.length).toBeGreaterThan(0), patience)
  await admin.query(`select pg_terminate_backend(pid) from (${lockedBy}) as holder`)
  await vi.waitFor(async () => expect(await answerOf(sandbox)).toBe('database_lost'), patience)
  for (let look = 0; look < 50; look += 1) expect((await admin.query(lockedBy)).rows).toEqual([])
  await blocker.query('rollback')
  await vi.waitFor(async () => expect(await answerOf(sandbox)).toBe(200), patience)
  const statusOf = async () => (await call<{ status: string }>(sandbox, `/api/v2/bulk/tasks/${correlationId}`)).status
  await vi.waitFor(async () => expect(await statusOf()).toBe('Success'), patience)
})

it('the sandbox closes for good when another locks the database before it is had back', async () => {
  await using database = await testDatabase({ template: 'empty' })
  await using sandbox = await open(database.url)
  await using successor = await connect(database.url)
  await using admin = await connect(database.url)
  // Waits in line, so that nobody is faster.
  const inherited = successor.query('select pg_advisory_lock(4711020, 1)')
  await vi.waitFor(async () => {
    const { rows } = await admin.query(`select from pg_locks join pg_database d on d.oid = database
       where locktype = 'advisory' and not granted and datname = current_database()`)
    expect(rows).toHaveLength(1)
  }, patience)
  const lost = once(sandbox.lost, 'abort')
  await admin.query(`select pg_terminate_backend(pid) from (${lockedBy}) as holder`)
  await inherited
  await lost
  expect(sandbox.lost.reason).toMatchObject({ code: 'sandbox_already_running' })
  expect(await answerOf(sandbox)).toBeNull()
})

it('the sandbox says which of its two ports is taken, and by which option to choose another', async () => {
  await using database = await testDatabase({ template: 'empty' })
  await using other = await testDatabase({ template: 'empty' })
  await using first = await open(database.url)
  const portOf = (url: string) => Number(new URL(url).port)
  const start = (ports: { port: number; filesPort: number }) =>
    startSandbox({ databaseUrl: other.url, contract, seed, companies: 3, ...ports })
  await expect(start({ port: portOf(first.url), filesPort: 0 })).rejects.toMatchObject({
    code: 'sandbox_address_unusable',
    message: expect.stringMatching(/^The API .* choose another port \(--port\)\.$/),
  })
  await expect(start({ port: 0, filesPort: portOf(first.url) })).rejects.toMatchObject({
    code: 'sandbox_address_unusable',
    message: expect.stringMatching(/^Result files .* choose another port \(--files-port\)\.$/),
  })
})
