import { expect, test, vi } from 'vitest'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { missedRun } from '../cli/missed-run.ts'
import { type Ended, nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'
import { httpServer } from '../exchange/fault-server.ts'
import { stallingProxy } from '../helpers/stalling-proxy.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }
/** What is promised, and is to be kept on a busy machine too. Milliseconds. */
const promisedMs = 10_000
/** For what is not waited for: a fraction of what closing would take. */
const atOnce = { timeout: 3_000, interval: 20 }
const common = ['serve', '--config', demoConfig]

type Ending = Pick<Ended, 'code' | 'signal'>

/** @returns how the process ended, after making sure that it ended in time from now. */
async function endedInTimeBy({ ended }: Running, expected: Ending): Promise<Ended> {
  const since = performance.now()
  const end = await ended
  expect(performance.now() - since, end.stderr).toBeLessThan(promisedMs)
  expect(end, end.stderr).toMatchObject(expected)
  return end
}

/** Sends SIGTERM. @returns how the process ended, after making sure that it ended in time. */
async function endedInTime(running: Running): Promise<Ended> {
  running.child.kill('SIGTERM')
  return await endedInTimeBy(running, { code: 143, signal: null })
}

/** Keeps every query of the partner's hotels waiting until it is disposed of. */
async function holdHotels({ partnerPool }: World): Promise<{ awaited: () => Promise<void> } & AsyncDisposable> {
  const holder = await partnerPool.connect()
  await holder.query('begin')
  await holder.query('lock table hotelier.hotel in access exclusive mode')
  const awaited = () =>
    vi.waitFor(async () => {
      const { rows } = await partnerPool.query(
        `select from pg_locks where relation = 'hotelier.hotel'::regclass and not granted`,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
  const letGo = async () => {
    await holder.query('rollback')
    holder.release()
  }
  return { awaited, [Symbol.asyncDispose]: letGo }
}

test('SIGTERM ends serve in time while a query of the partner database does not end', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using hotels = await holdHotels(world)
  const daemon = start(folder.path, common, await missedRun(world))
  await hotels.awaited()
  await endedInTime(daemon)
}, 120_000)

test('a newer schema ends serve in time while a query of the partner database does not end, and is told at once', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using hotels = await holdHotels(world)
  const daemon = start(folder.path, common, await missedRun(world))
  await hotels.awaited()
  await world.pool.query(`insert into kysely_migration (name, timestamp) values ('9999-of-a-newer-version', 'now')`)
  // The schema is looked at once a minute.
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_stopping'), { ...patience, timeout: 90_000 })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('nightferry: schema_newer: '), atOnce)
  expect(daemon.child.exitCode).toBeNull()
  const { stderr } = await endedInTimeBy(daemon, { code: 1, signal: null })
  expect(stderr.match(/^nightferry: \w+/gm)).toEqual(['nightferry: schema_newer', 'nightferry: shutdown_cut_short'])
}, 180_000)

test('run ends in time with the result of its run, which another process ended, while its query does not end', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using hotels = await holdHotels(world)
  const night = start(folder.path, ['run', 'nightly-sync', '--config', demoConfig], world.environment())
  await hotels.awaited()
  await world.pool.query(
    `update run set state = 'failed', verdict = 'failed', finished_at = now(),
       failure = '{"step": "extract", "code": "abandoned", "message": "Ended elsewhere."}'`,
  )
  await vi.waitFor(() => expect(night.stderr()).toContain('Ended elsewhere.'), patience)
  const { stderr } = await endedInTimeBy(night, { code: 1, signal: null })
  expect(stderr).toContain('nightferry: shutdown_cut_short: ')
}, 120_000)

test('SIGTERM ends serve in time when its own database answers nothing any more, and says that it was cut short', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using proxy = await stallingProxy(world.databaseUrl)
  const daemon = start(folder.path, common, { ...world.environment(), DATABASE_URL: proxy.url })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), patience)
  proxy.stall()
  expect((await endedInTime(daemon)).stderr).toContain('nightferry: shutdown_cut_short: ')
}, 120_000)

test('SIGTERM ends serve in time while its own database does not let it in', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using proxy = await stallingProxy(world.databaseUrl)
  proxy.stall()
  const daemon = start(folder.path, common, {
    ...world.environment(),
    DATABASE_URL: proxy.url,
    NODE_DEBUG: 'net',
  })
  await vi.waitFor(
    () => expect(daemon.stderr()).toContain(`connect: attempting to connect to 127.0.0.1:${new URL(proxy.url).port}`),
    patience,
  )
  await endedInTime(daemon)
}, 120_000)

test('SIGTERM ends serve in time while the service does not answer a call', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using silent = await httpServer(() => {})
  const daemon = start(folder.path, common, { ...(await missedRun(world)), EXCHANGE_BASE_URL: silent.url })
  await vi.waitFor(() => expect(silent.seen.length).toBeGreaterThan(0), patience)
  await endedInTime(daemon)
}, 120_000)

test('SIGTERM ends serve in time while a receiver takes a notification and does not answer', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using silent = await httpServer(() => {})
  const daemon = start(folder.path, common, {
    ...(await missedRun(world)),
    NIGHTFERRY_NOTIFY_HEARTBEAT_URL: `${silent.url}/beat`,
  })
  await vi.waitFor(() => expect(silent.seen.length).toBeGreaterThan(0), patience)
  expect((await endedInTime(daemon)).stderr).not.toContain('shutdown_cut_short')
}, 120_000)

test('SIGTERM ends serve in time while a query about notifications waits for a lock', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using receiver = await httpServer((_, response) => response.end())
  const settings = { ...world.environment(), NIGHTFERRY_NOTIFY_URL: `${receiver.url}/hook` }
  expect(await nightferry(folder.path, ['migrate', '--config', demoConfig], settings)).toMatchObject({ code: 0 })
  const holder = await world.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table nightferry.notification in access exclusive mode')
    const daemon = start(folder.path, common, settings)
    await vi.waitFor(async () => {
      const { rows } = await world.pool.query(
        `select from pg_locks where relation = 'nightferry.notification'::regclass and not granted`,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    expect((await endedInTime(daemon)).stderr).not.toContain('shutdown_cut_short')
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}, 120_000)

test('SIGTERM ends serve in time with an embedded server, which has ended then', async () => {
  await using place = await clusterFolder()
  const daemon = start(place.parent, common, {
    EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
    PARTNER_DATABASE_URL: 'postgres://reader@127.0.0.1:1/hotels',
  })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), patience)
  await endedInTime(daemon)
  expect(await runningPostmaster(`${place.parent}/.nightferry/postgres/data`)).toBeUndefined()
}, 120_000)
