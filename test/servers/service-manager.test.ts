import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { start, workingFolder } from '../cli/nightferry-process.ts'
import { unusedPort } from '../exchange/fault-server.ts'
import { stallingProxy } from '../helpers/stalling-proxy.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { notifySocket } from './notify-socket.ts'
import { program } from './programs.ts'
import { switchingProxy } from './switching-proxy.ts'

const execute = promisify(execFile)
const patience = { timeout: 60_000, interval: 20 }
const serve = ['serve', '--config', demoConfig]
const PATH = '/usr/local/bin:/usr/bin:/bin'

/**
 * Fails if there are pings although the watchdog should hear of nobody. One look may have been answered before; the
 * next is not. That nothing comes is seen by waiting alone: five times as long as the watchdog would wait.
 */
async function expectSilence(pings: () => number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const after = pings()
  await new Promise((resolve) => setTimeout(resolve, 5_000))
  expect(pings()).toBe(after)
}

test('systemd is told when serve is ready, how it gets on, that it reloads and is ready again, and that it stops', async () => {
  program('systemd-notify')
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using socket = await notifySocket()
  const daemon = start(folder.path, serve, { ...world.environment(), PATH, NOTIFY_SOCKET: socket.path })
  const told = (name: string) => socket.messages().filter((message) => name in message)
  await vi.waitFor(() => expect(told('STATUS')).toHaveLength(1), patience)
  expect(told('STATUS')).toEqual([{ STATUS: 'Idle; no job that carries data has a schedule' }])
  expect(told('READY')).toHaveLength(1)
  // Without WATCHDOG_USEC nobody waits for it.
  expect(told('WATCHDOG')).toEqual([])

  daemon.child.kill('SIGHUP')
  await vi.waitFor(() => expect(told('READY')).toHaveLength(2), patience)
  const [reloading] = told('RELOADING')
  expect(reloading).toEqual({ RELOADING: '1', MONOTONIC_USEC: expect.stringMatching(/^\d+$/) })
  expect(daemon.stderr()).toContain('configuration_reloaded')

  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
  await vi.waitFor(() => expect(told('STOPPING')).toHaveLength(1), patience)
})

test('the watchdog hears of serve while its database answers, and no more when it does not', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using socket = await notifySocket()
  await using proxy = await stallingProxy(world.databaseUrl)
  const daemon = start(folder.path, serve, {
    ...world.environment(),
    DATABASE_URL: proxy.url,
    PATH,
    NOTIFY_SOCKET: socket.path,
    WATCHDOG_USEC: '1000000',
  })
  const pings = () => socket.messages().filter((message) => 'WATCHDOG' in message).length
  await vi.waitFor(() => expect(pings()).toBeGreaterThan(2), patience)
  proxy.stall()
  await expectSilence(pings)
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
})

test('the watchdog goes on hearing of serve while its database refuses connections', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using socket = await notifySocket()
  const port = Number(new URL(world.databaseUrl).port)
  await using proxy = await switchingProxy(port)
  const daemon = start(folder.path, serve, {
    ...world.environment(),
    DATABASE_URL: Object.assign(new URL(world.databaseUrl), { port: String(proxy.port) }).href,
    PATH,
    NOTIFY_SOCKET: socket.path,
    WATCHDOG_USEC: '1000000',
  })
  const pings = () => socket.messages().filter((message) => 'WATCHDOG' in message).length
  await vi.waitFor(() => expect(pings()).toBeGreaterThan(0), patience)
  proxy.lead(await unusedPort())
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"queue_error"'), patience)
  const before = pings()
  await vi.waitFor(() => expect(pings()).toBeGreaterThan(before + 5), patience)
  proxy.lead(port)
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
})

test('the watchdog hears no more of serve once its database refuses the password, which only another process reads again', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  await using socket = await notifySocket()
  const role = `rotated_${randomBytes(6).toString('hex')}`
  await world.pool.query(`create role ${role} superuser login password 'first'`)
  const daemon = start(folder.path, serve, {
    ...world.environment(),
    DATABASE_URL: Object.assign(new URL(world.databaseUrl), { username: role, password: 'first' }).href,
    PATH,
    NOTIFY_SOCKET: socket.path,
    WATCHDOG_USEC: '1000000',
  })
  const pings = () => socket.messages().filter((message) => 'WATCHDOG' in message).length
  await vi.waitFor(() => expect(pings()).toBeGreaterThan(0), patience)
  await world.pool.query(`alter role ${role} password 'second'`)
  await world.pool.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
  await vi.waitFor(() => expect(daemon.stderr()).toContain('password authentication failed'), patience)
  await expectSilence(pings)
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
})

test('systemd is told to wait for as long as a statement on a SQLite file may take, which stops all else', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const told = async (changed: Record<string, string>): Promise<string | undefined> => {
    await using socket = await notifySocket()
    const daemon = start(folder.path, serve, {
      ...world.environment(),
      PATH,
      NOTIFY_SOCKET: socket.path,
      WATCHDOG_USEC: '120000000',
      ...changed,
    })
    const ready = () => socket.messages().find((message) => 'READY' in message)
    await vi.waitFor(() => expect(ready()).toBeDefined(), patience)
    daemon.child.kill('SIGTERM')
    expect((await daemon.ended).code).toBe(143)
    return ready()?.WATCHDOG_USEC
  }
  const file = pathToFileURL(join(folder.path, 'hotels.db')).href
  expect(await told({})).toBeUndefined()
  expect(await told({ PARTNER_DATABASE_URL: file, WATCHDOG_PID: '1' })).toBeUndefined()
  // Beside what the unit allows, the hour that a statement may take.
  expect(await told({ PARTNER_DATABASE_URL: file })).toBe('3720000000')
  const unlimited = { PARTNER_DATABASE_URL: file, NIGHTFERRY_PARTNER_STATEMENT_TIMEOUT_MS: '0' }
  expect(Number(await told(unlimited)) / 1e6).toBeGreaterThan(10 * 365 * 86_400)
})

test('a watchdog that is meant for another process is not answered, and a socket that nobody reads is told of once', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const daemon = start(folder.path, serve, {
    ...world.environment(),
    PATH: '/nowhere',
    NOTIFY_SOCKET: join(folder.path, 'nobody'),
    WATCHDOG_USEC: '1000000',
    WATCHDOG_PID: '1',
  })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('service_manager_not_told'), patience)
  daemon.child.kill('SIGTERM')
  const { code, stderr } = await daemon.ended
  expect(code).toBe(143)
  expect(stderr.match(/service_manager_not_told/g)).toHaveLength(1)
})

test('systemd-analyze finds nothing wrong with the unit, sees a mistake, and counts its exposure as low', async () => {
  await using folder = await workingFolder()
  const text = readFileSync(new URL('../../packaging/systemd/nightferry.service', import.meta.url), 'utf8')
  const file = join(folder.path, 'nightferry.service')
  const analyze = (unit: string, ...args: string[]) => {
    writeFileSync(file, unit)
    const env = { PATH, SYSTEMD_LOG_LEVEL: 'warning' }
    return execute(program('systemd-analyze'), [...args, file], { env }).then(
      ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
      (error: { code: number; stdout: string; stderr: string }) => ({
        code: error.code,
        said: error.stdout + error.stderr,
      }),
    )
  }
  // The program is not installed here under the name that the unit has for it.
  const unit = text.replace('/usr/local/bin/nightferry', '/bin/true')
  const verified = await analyze(unit, 'verify', '--man=no')
  const ours = (said: string) => said.split('\n').filter((line) => line.includes('nightferry'))
  expect(ours(verified.said)).toEqual([])
  expect(
    ours((await analyze(unit.replace('KillMode=mixed', 'KilMode=mixed'), 'verify', '--man=no')).said),
  ).toHaveLength(1)
  const judged = await analyze(unit, 'security', '--offline=true', '--threshold=20')
  expect(judged.said).toMatch(/Overall exposure level for nightferry\.service: 1\.\d OK/)
  expect(judged.code).toBe(0)
})
