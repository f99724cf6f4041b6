import { expect, test, vi } from 'vitest'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { missedRun } from '../cli/missed-run.ts'
import { type Ended, nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { clusterFolder } from '../db/fixtures/cluster-process.ts'
import { httpServer } from '../exchange/fault-server.ts'
import { stallingProxy } from '../helpers/stalling-proxy.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }
/** What is promised, and is to be kept on a busy machine too. Milliseconds. */
const promisedMs = 10_000
const common = ['serve', '--config', demoConfig]

/** Sends SIGTERM. @returns how the process ended, after making sure that it ended in time. */
async function endedInTime({ child, ended }: Running): Promise<Ended> {
  const signalled = performance.now()
  child.kill('SIGTERM')
  const end = await ended
  expect(performance.now() - signalled, end.stderr).toBeLessThan(promisedMs)
  expect(end, end.stderr).toMatchObject({ code: 143, signal: null })
  return end
}

test('SIGTERM ends serve in time while a query of the partner database does not end', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const holder = await world.partnerPool.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table hotelier.hotel in access exclusive mode')
    const daemon = start(folder.path, common, await missedRun(world))
    await vi.waitFor(async () => {
      const { rows } = await world.partnerPool.query(
        `select from pg_locks where relation = 'hotelier.hotel'::regclass and not granted`,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    await endedInTime(daemon)
  } finally {
    await holder.query('rollback')
    holder.release()
  }
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
