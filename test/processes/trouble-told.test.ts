import { expect, test, vi } from 'vitest'
import { start, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld } from '../helpers/world.ts'
import { switchingProxy } from '../servers/switching-proxy.ts'

/** A minute goes by before trouble is told again, and a busy machine is late. */
const patience = { timeout: 150_000, interval: 50 }

type Line = { level: number; msg: string; code?: string; error?: string; suppressed?: number }

/** As the log numbers it. */
const warning = 40

const loops = ['job_channel_lost', 'job_requests_failed', 'tick_failed', 'clock_watch_failed', 'notifications_failed']

test('each kind of trouble of a daemon whose database is away is told at once, and a minute later how often it came again', async () => {
  await using world = await startWorld({ hotels: 1 })
  await using folder = await workingFolder()
  const proxy = await switchingProxy(Number(new URL(world.databaseUrl).port))
  const daemon = start(folder.path, ['serve', '--config', demoConfig], {
    ...world.environment(),
    DATABASE_URL: Object.assign(new URL(world.databaseUrl), { port: String(proxy.port) }).href,
    NIGHTFERRY_NOTIFY_URL: 'http://127.0.0.1:9/nobody',
    NIGHTFERRY_LOG_LEVEL: 'info',
  })
  await vi.waitFor(() => expect(daemon.stderr()).toContain('"service_started"'), patience)
  await proxy[Symbol.asyncDispose]()
  const told = () =>
    daemon
      .stderr()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => level >= warning)
  const kinds = () => Map.groupBy(told(), ({ msg, code, error }) => `${msg} ${code ?? error}`)
  const again = () => new Set(told().flatMap(({ msg, suppressed = 0 }) => (suppressed > 0 ? [msg] : [])))
  await vi.waitFor(() => expect([...again()]).toEqual(expect.arrayContaining(loops)), patience)
  for (const [kind, [first, second, ...others]] of kinds()) {
    expect(first?.suppressed, kind).toBeUndefined()
    if (second !== undefined) expect(second.suppressed, kind).toBeGreaterThan(0)
    // The last of the loops may come to its second line after another one has come to its third.
    expect(others.length, kind).toBeLessThan(3)
  }
  daemon.child.kill('SIGTERM')
  expect((await daemon.ended).code).toBe(143)
}, 240_000)
