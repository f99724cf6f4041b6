import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test, vi } from 'vitest'
import type { FinalTables } from '../helpers/final-tables.ts'
import { stallingProxy } from '../helpers/stalling-proxy.ts'
import { atOnce, calmTables, expectSameNight, type SmallNight, smallNight } from './small-night.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
const patience = { timeout: 120_000, interval: 50 }

let calm: FinalTables

beforeAll(async () => {
  calm = await calmTables()
})

/** Starts a program that becomes the night, so that it may set limits of its process first. */
function startAs(night: SmallNight, command: readonly string[], stdio: ('ignore' | 'pipe' | number)[]): ChildProcess {
  const [program = '', ...before] = command
  const env = { ...night.world.environment(), NIGHTFERRY_LOG_LEVEL: 'error' }
  return spawn(program, [...before, main, ...night.args], { cwd: night.folder, env, stdio })
}

/** What a process has said on standard error, and how it ended. */
async function endOf(child: ChildProcess): Promise<{ code: number | null; signal: string | null; stderr: string }> {
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
  return { code: child.exitCode, signal: child.signalCode, stderr }
}

/** After whatever became of the first, the next night ends as one that nothing happened to. */
async function expectNextNightWhole(night: SmallNight): Promise<void> {
  const next = await night.start().ended
  expect(next, next.stderr).toMatchObject({ code: 0 })
  await expectSameNight(night, calm, atOnce)
}

test('a night whose reader closed standard output and standard error goes on to its end', async () => {
  await using night = await smallNight()
  const child = startAs(night, [process.execPath], ['ignore', 'pipe', 'pipe'])
  child.stdout?.destroy()
  child.stderr?.destroy()
  await once(child, 'exit')
  expect({ code: child.exitCode, signal: child.signalCode }).toEqual({ code: 0, signal: null })
  await expectSameNight(night, calm, 0)
})

test('a night whose report does not fit on the disk (ENOSPC) says so, exits 1, and has done its work', async () => {
  await using night = await smallNight()
  const full = await open('/dev/full', 'w')
  try {
    const { code, stderr } = await endOf(startAs(night, [process.execPath], ['ignore', full.fd, 'pipe']))
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/^nightferry: disk_full: ENOSPC: .*Free space/m)
  } finally {
    await full.close()
  }
  await expectSameNight(night, calm, 0)
})

test('a night that may open too few files (EMFILE) says so, and the next one is whole', async () => {
  await using night = await smallNight()
  // Node needs some two dozen before it begins; the connections of a night come on top.
  const command = ['/bin/sh', '-c', 'ulimit -n 28; exec "$@"', 'sh', process.execPath]
  const { code, stderr } = await endOf(startAs(night, command, ['ignore', 'ignore', 'pipe']))
  expect(code, stderr).toBe(1)
  expect(stderr).toMatch(/EMFILE/)
  await expectNextNightWhole(night)
})

test('a night that runs out of memory dies, and the next one is whole', async () => {
  await using night = await smallNight()
  const command = [process.execPath, '--max-old-space-size=24', '--max-semi-space-size=1']
  const { code, signal, stderr } = await endOf(startAs(night, command, ['ignore', 'ignore', 'pipe']))
  expect(stderr).toContain('JavaScript heap out of memory')
  expect(signal ?? code).not.toBe(0)
  await expectNextNightWhole(night)
})

test("a night whose partner's database takes connections and answers nothing ends and says so, and the next one is whole", async () => {
  await using night = await smallNight()
  await using proxy = await stallingProxy(night.world.partnerUrl)
  proxy.stall()
  const run = await night.start({ PARTNER_DATABASE_URL: proxy.url }).ended
  expect(run.code, run.stderr).toBe(1)
  expect(run.stderr).toMatch(/partner_unreachable/)
  await expectNextNightWhole(night)
})

test('a night whose own database falls silent ends when it is told to, and the next one is whole', async () => {
  await using night = await smallNight()
  {
    // The server lets go of what a silent client holds once its keep-alives find nobody: here when the proxy ends.
    await using proxy = await stallingProxy(night.world.databaseUrl)
    const silent = night.start({ DATABASE_URL: proxy.url })
    await vi.waitFor(async () => {
      const { rows } = await night.world.pool.query(`select from nightferry.submission where state = 'accepted'`)
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    proxy.stall()
    silent.child.kill('SIGTERM')
    const { code, stderr } = await silent.ended
    expect(code, stderr).toBe(143)
  }
  await expectNextNightWhole(night)
})
