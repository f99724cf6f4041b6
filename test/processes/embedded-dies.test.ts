import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { expect, test, vi } from 'vitest'
import { openCluster } from '../../src/embedded/open-cluster.ts'
import { runningPostmaster } from '../../src/embedded/start-server.ts'
import { type Running, start } from '../cli/nightferry-process.ts'
import { ask, clusterFolder } from '../db/fixtures/cluster-process.ts'
import { fastSettings } from '../helpers/test-cluster.ts'
import { demoConfig } from '../helpers/world.ts'

const patience = { timeout: 60_000, interval: 20 }
const common = ['--config', demoConfig]
/** Nobody is called: there is no schedule, so nothing runs. */
const nobody = {
  EXCHANGE_BASE_URL: 'http://127.0.0.1:1',
  PARTNER_DATABASE_URL: 'postgres://reader@127.0.0.1:1/hotels',
}

type Line = { level: number; msg: string; job?: string; code?: string; error?: string; suppressed?: number }

function linesOf(stderr: string): Line[] {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line)
}

/** What was told as new more than once within the minute that such a test takes at most. */
function toldTwice(stderr: string): string[] {
  const told = linesOf(stderr)
    .filter(({ level, suppressed }) => level >= 50 && suppressed === undefined)
    .map(({ msg, job, code, error }) => `${msg} ${job ?? ''} ${code ?? error}`)
  return told.filter((kind, index) => told.indexOf(kind) !== index)
}

async function started(cwd: string, args: string[] = []): Promise<Running> {
  const daemon = start(cwd, ['serve', ...common, ...args], nobody)
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), patience)
  return daemon
}

/** Its process id, once the server is there and ready. */
async function serverOn(data: string): Promise<number> {
  return await vi.waitFor(async () => {
    const server = await runningPostmaster(data)
    if (server?.ready !== true) throw new Error('no server is ready')
    return server.pid
  }, patience)
}

async function connections(url: string): Promise<number> {
  const counted = `select count(*)::int as count from pg_stat_activity where starts_with(application_name, 'nightferry queue')`
  const [row] = await ask<{ count: number }>(url, counted)
  return row?.count ?? 0
}

test('one of two daemons starts the embedded server again when it dies, and both go on', async () => {
  await using place = await clusterFolder()
  const folder = ['--set', `database.folder=${place.parent}`]
  const daemons = [await started(place.parent, folder), await started(place.parent, folder)]
  const before = await serverOn(place.data)
  process.kill(before, 'SIGKILL')
  await vi.waitFor(async () => expect(await serverOn(place.data)).not.toBe(before), patience)
  const guest = await openCluster({ folder: place.folder, onNotice: () => {} })
  await vi.waitFor(async () => expect(await connections(guest.url('postgres'))).toBeGreaterThanOrEqual(2), patience)
  await guest.release()
  for (const { child } of daemons) child.kill('SIGTERM')
  const ended = await Promise.all(daemons.map((daemon) => daemon.ended))
  expect(ended.map(({ code }) => code)).toEqual([143, 143])
  const restarts = ended
    .flatMap(({ stderr }) => linesOf(stderr))
    .filter(({ msg }) => msg === 'embedded_postgres_restarted')
  expect(restarts).toHaveLength(1)
  expect(ended.flatMap(({ stderr }) => toldTwice(stderr))).toEqual([])
  expect(await runningPostmaster(place.data)).toBeUndefined()
}, 180_000)

test('serve ends with exit code 1 when the embedded server is gone with its data', async () => {
  await using place = await clusterFolder()
  const daemon = await started(place.parent, ['--set', `database.folder=${place.parent}`])
  const server = await serverOn(place.data)
  await rm(place.data, { recursive: true, force: true })
  try {
    process.kill(server, 'SIGKILL')
  } catch (error) {
    // One that misses its data may end before.
    expect(error).toMatchObject({ code: 'ESRCH' })
  }
  const { code, stderr } = await daemon.ended
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(
    /nightferry: embedded_postgres_failed: (The data of .* are gone|PostgreSQL on .* has ended and cannot)/,
  )
}, 120_000)

test('serve makes no folder in the place of its own that was moved away, so that it can be moved back', async () => {
  await using place = await clusterFolder()
  const daemon = await started(place.parent, ['--set', `database.folder=${place.parent}`])
  const server = await serverOn(place.data)
  await rename(place.folder, `${place.folder}.old`)
  process.kill(server, 'SIGKILL')
  const { code, stderr } = await daemon.ended
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/nightferry: embedded_postgres_failed: The data of .* are gone/)
  expect(existsSync(place.folder)).toBe(false)
  await rename(`${place.folder}.old`, place.folder)
}, 120_000)

test('serve outlives a server of another that goes away and comes back, and tells each kind of trouble once', async () => {
  await using place = await clusterFolder()
  const other = await openCluster({ folder: place.folder, onNotice: () => {}, settings: fastSettings })
  await other.ensureDatabase('own')
  const daemon = start(place.parent, ['serve', ...common], { ...nobody, DATABASE_URL: other.url('own') })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_started'), patience)
  process.kill(await serverOn(place.data), 'SIGKILL')
  await vi.waitFor(() => expect(daemon.stderr()).toMatch(/"code":"ECONNREFUSED".*queue_error/), patience)
  // Which connections were idle at that moment is luck; the one that listens is lost in any case.
  expect(daemon.stderr()).toContain('job_channel_lost')
  expect(await other.ensureRunning()).toBe(true)
  await vi.waitFor(async () => expect(await connections(other.url('postgres'))).toBeGreaterThan(0), patience)
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  expect(code, stderr).toBe(143)
  expect(toldTwice(stderr)).toEqual([])
  expect(linesOf(stderr).some(({ suppressed = 0 }) => suppressed > 0)).toBe(true)
  await other.release()
}, 120_000)
