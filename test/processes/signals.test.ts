import { expect, test, vi } from 'vitest'
import type { DurationSettings } from '../../src/sandbox/durations.ts'
import { leftIn } from '../cli/left-in.ts'
import { missedRun } from '../cli/missed-run.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

/** A mapping that takes long enough to be interrupted; the rest is quick. */
const slowMapping: DurationSettings = {
  pendingMs: 0,
  scheduledMs: 0,
  jitter: 0,
  processing: { companyMappings: { baseMs: 4_000, perItemUs: 0 } },
}

const patience = { timeout: 60_000, interval: 20 }

function inFlight(world: World): Promise<void> {
  return vi.waitFor(async () => {
    const { rows } = await world.pool.query(`select from submission where state = 'accepted'`)
    expect(rows).toHaveLength(1)
  }, patience)
}

const common = ['--config', demoConfig]

test('SIGINT ends a run with 130, and the next run finishes it without sending anything twice', async () => {
  await using world = await startWorld({ hotels: 3, durations: slowMapping })
  await using folder = await workingFolder()
  const { child, ended } = start(folder.path, ['run', 'nightly-sync', ...common], world.environment())
  await inFlight(world)
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ code: 130, signal: null, stdout: '' })
  expect((await leftIn(world.databaseUrl)).runs).toMatchObject([{ state: 'running', resumed: 0 }])

  const second = await nightferry(folder.path, ['run', 'nightly-sync', ...common], world.environment())
  expect(second.stderr).toContain('Run 1 is under way at the step push: going on with it.')
  expect(second.code).toBe(0)
  expect((await leftIn(world.databaseUrl)).runs).toMatchObject([
    { state: 'finished', verdict: 'succeeded', resumed: 1 },
  ])
  const { rows } = await world.sandboxPool.query(
    `select count(*)::int as sent from request_log where path like '%/company-mappings' and phase = 'received'`,
  )
  expect(rows).toEqual([{ sent: 1 }])
}, 120_000)

test('SIGTERM ends serve with 143 within ten seconds while a run is under way, and the next serve finishes it', async () => {
  await using world = await startWorld({ hotels: 3, durations: slowMapping })
  await using folder = await workingFolder()
  const scheduled = await missedRun(world)
  const first = start(folder.path, ['serve', ...common], scheduled)
  await inFlight(world)
  const signalled = performance.now()
  first.child.kill('SIGTERM')
  expect(await first.ended).toMatchObject({ code: 143, signal: null })
  expect(performance.now() - signalled).toBeLessThan(10_000)

  const second = start(folder.path, ['serve', ...common], scheduled)
  await vi.waitFor(async () => {
    const { rows } = await world.pool.query('select trigger, state, verdict, scheduled_for from run order by run_id')
    expect(rows).toMatchObject([
      { trigger: 'schedule' },
      { trigger: 'missed', state: 'finished', verdict: 'succeeded' },
    ])
    const [before, missed] = rows as { scheduled_for: Date }[]
    expect(missed?.scheduled_for.getTime()).toBe((before?.scheduled_for.getTime() ?? 0) + 24 * 3_600_000)
  }, patience)
  second.child.kill('SIGTERM')
  const { code, stdout, stderr } = await second.ended
  expect({ code, stdout }).toEqual({ code: 143, stdout: '' })
  const events = stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg)
  expect(events).toEqual(expect.arrayContaining(['service_started', 'run_finished', 'service_stopping']))
}, 120_000)

/** Tells `serve` twice to end while its work waits for a lock, which goes on waiting. */
async function endsAtOnce(environment: Record<string, string>): Promise<void> {
  await using world = await startWorld({ hotels: 1, durations: slowMapping })
  await using folder = await workingFolder()
  const daemon = start(folder.path, ['serve', ...common], { ...(await missedRun(world)), ...environment })
  await inFlight(world)
  const holder = await world.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('lock table submission in access exclusive mode')
    // The next poll cannot go on, and so the first signal has to wait for it.
    await vi.waitFor(async () => {
      const { rows } = await world.pool.query(
        `select from pg_locks where relation = 'submission'::regclass and not granted`,
      )
      expect(rows.length).toBeGreaterThan(0)
    }, patience)
    daemon.child.kill('SIGINT')
    await vi.waitFor(() => expect(daemon.stderr()).toContain('service_stopping'), patience)
    daemon.child.kill('SIGTERM')
    // The code is that of the second one, and the table is locked still.
    expect(await daemon.ended).toMatchObject({ code: 143, signal: null })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
}

test('a second signal ends the process at once, although the work at hand is not done', async () => {
  await endsAtOnce({})
}, 60_000)

/** Fails at the second signal, as work does whose server is taken away and for which nobody waits any more. */
const failing = `data:text/javascript,${encodeURIComponent(`
  let signals = 0
  const count = () => { if (++signals === 2) process.nextTick(() => { throw new Error('it lost its server') }) }
  process.on('SIGINT', count)
  process.on('SIGTERM', count)`)}`

test('a second signal ends the process with its code, also if work fails meanwhile that nobody waits for', async () => {
  await endsAtOnce({ NODE_OPTIONS: `--import=${failing}` })
}, 60_000)
