import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { pollInMs } from '../../src/pipeline/when-to-look.ts'
import { type Ended, nightferryProcess, workingFolder } from '../cli/nightferry-process.ts'
import { type AlteringProxy, alteringProxy } from '../helpers/altering-proxy.ts'
import { unfinishedTogether } from '../helpers/request-log.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

const preload = fileURLToPath(new URL('../helpers/shifted-clock.ts', import.meta.url))
const hour = 3_600_000
const mappings = '/company-mappings'

async function verb(
  world: World,
  proxy: AlteringProxy,
  settings: Record<string, string>,
  ...args: string[]
): Promise<Ended> {
  await using folder = await workingFolder()
  const environment = { ...world.environment(), EXCHANGE_BASE_URL: proxy.url, ...settings }
  return await nightferryProcess(folder.path, [...args, '--config', demoConfig], environment)
}

test.each([
  ['an hour behind', -hour],
  ['20 seconds behind', -20_000],
  ['an hour ahead of', hour],
])(
  'a process whose clock is %s that of its database polls as often as any, and ends its run',
  { timeout: 480_000 },
  async (_, shift) => {
    const intervalMs = 1_000
    await using world = await startWorld({ hotels: 3 })
    const polledAt = new Map<string, number[]>()
    await using proxy = await alteringProxy(world.sandboxUrl, ({ method, path }, answer) => {
      const id = /\/bulk\/tasks\/([^/]+)$/.exec(path)?.[1]
      if (method === 'GET' && id !== undefined) polledAt.set(id, [...(polledAt.get(id) ?? []), performance.now()])
      return answer
    })
    const ended = await verb(
      world,
      proxy,
      {
        NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: String(intervalMs),
        NODE_OPTIONS: `--import=${preload}`,
        CLOCK_SHIFT_MS: String(shift),
      },
      'run',
      'nightly-sync',
      '--json',
    )
    expect(ended.code, ended.stderr).toBe(0)
    expect(polledAt.size).toBeGreaterThan(3)
    for (const [id, times] of some(polledAt)) {
      const gaps = times.slice(1).map((time, at) => time - (times[at] ?? 0))
      // A busy machine delays the first of two polls on its way, never the timer of the second.
      expect(
        gaps.filter((gap, at) => gap < pollInMs(intervalMs, at + 1) / 2),
        id,
      ).toEqual([])
    }
  },
)

/**
 * What the service's clock shows, apart from ours: on its answers before and after the answer was lost, and on the lost
 * task.
 */
type Shifts = { before: number; after: number; stamp: number }

// They wait for tasks more than they work.
test.concurrent.each<[string, Shifts]>([
  ['ten minutes behind', { before: -600_000, after: -600_000, stamp: -600_000 }],
  ['an hour behind', { before: -hour, after: -hour, stamp: -hour }],
  ['an hour ahead', { before: hour, after: hour, stamp: hour }],
  ['set back by two hours while the answer is lost', { before: hour, after: -hour, stamp: -hour }],
  ['put right while the answer is lost', { before: -hour, after: 0, stamp: -hour }],
])(
  'with the clock of the service %s a request whose answer was lost is not sent beside its own task',
  { timeout: 480_000 },
  async (_, { before, after, stamp }) => {
    await using world = await startWorld({
      hotels: 3,
      durations: { processing: { companyMappings: { baseMs: 6_000 } }, jitter: 0 },
    })
    let lost = false
    await using proxy = await alteringProxy(world.sandboxUrl, ({ method, path }, answer) => {
      if (method === 'POST' && path.endsWith(mappings) && !lost) {
        lost = true
        return null
      }
      const date = new Date(Date.now() + (lost ? after : before)).toUTCString()
      const shifted = (task: { createdAt?: string }) =>
        task.createdAt === undefined
          ? task
          : { ...task, createdAt: new Date(Date.parse(task.createdAt) + stamp).toISOString() }
      const json = path.endsWith('/bulk/tasks') ? (answer.json as { createdAt?: string }[]).map(shifted) : answer.json
      return { ...answer, json, headers: { date } }
    })
    // What a person is told stands there in words only if no log is asked for.
    const quick = { NIGHTFERRY_PUSH_UNCERTAIN_GRACE_MS: '200', NIGHTFERRY_LOG_LEVEL: 'info' }
    const ended = await verb(world, proxy, quick, 'run', 'nightly-sync', '--json')
    expect(ended.code, ended.stderr).toBe(0)
    expect(
      (JSON.parse(ended.stdout) as RunReport).streams.every(({ unknown, rejected }) => unknown + rejected === 0),
    ).toBe(true)
    expect(proxy.count('POST', mappings)).toBeGreaterThan(1)
    expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
    const { rows } = await world.pool.query('select from ledger where accepted_hash is distinct from desired_hash')
    expect(rows).toEqual([])

    const told = await verb(world, proxy, {}, 'status')
    if (after === 0) expect(told.stdout).not.toContain('Somebody should set it right')
    else {
      expect(ended.stderr).toContain('warning: service clock off')
      const words = after < 0 ? 'behind' : 'ahead of'
      expect(told.stdout).toMatch(
        new RegExp(`^Clocks: the service's clock is \\d+ s ${words} the database's.*Somebody should`, 'm'),
      )
    }
  },
)
