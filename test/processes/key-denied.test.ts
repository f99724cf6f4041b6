import { expect, test, vi } from 'vitest'
import { migrateToLatest } from '../../src/db/migrate-to-latest.ts'
import type { DurationSettings } from '../../src/sandbox/durations.ts'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

/** A mapping that takes long enough for the key to be revoked meanwhile; the rest is quick. */
const slowMapping: DurationSettings = {
  pendingMs: 0,
  scheduledMs: 0,
  jitter: 0,
  processing: { companyMappings: { baseMs: 1_500, perItemUs: 0 } },
}
const patience = { timeout: 60_000, interval: 50 }
const common = ['--config', demoConfig]

async function switchTo(world: World, profiles: Record<string, number>): Promise<void> {
  const answer = await fetch(`${world.sandboxUrl}/sandbox/chaos`, {
    method: 'PUT',
    headers: { authorization: 'demo-key', 'content-type': 'application/json' },
    body: JSON.stringify({ profiles }),
  })
  expect(answer.status).toBe(200)
}
const revoke = (world: World) => switchTo(world, { unauthorised: 1 })
const restore = (world: World) => switchTo(world, {})

const accepted = (world: World) =>
  vi.waitFor(async () => {
    const { rows } = await world.pool.query(`select from submission where state = 'accepted'`)
    expect(rows).toHaveLength(1)
  }, patience)

const callsOf = async (world: World) => {
  const { rows } = await world.sandboxPool.query<{ path: string }>(
    `select path from request_log where phase = 'received' and path like '/api/%' order by id`,
  )
  return rows.map(({ path }) => path)
}

test('a key that is revoked in mid-run parks everything and says so; the next run sends all of it, once', async () => {
  await using world = await startWorld({ hotels: 3, durations: slowMapping })
  await using folder = await workingFolder()
  const environment = world.environment()
  const verb = (...args: string[]) => nightferry(folder.path, [...args, ...common], environment)
  const first = start(folder.path, ['run', 'nightly-sync', ...common], environment)
  await accepted(world)
  await revoke(world)
  const stopped = await first.ended
  expect(stopped).toMatchObject({ code: 1, stdout: '' })
  expect(stopped.stderr).toContain('failed at the step push (exchange_unauthorized)')
  expect(stopped.stderr).toContain('Set EXCHANGE_API_KEY')

  const before = await callsOf(world)
  const words =
    /the service does not accept the API key \(401 api_key_unknown: .*\) since \d{4}-\d\d-\d\d \d\d:\d\d UTC: set EXCHANGE_API_KEY/
  const status = await verb('status')
  expect(status.stdout).toMatch(words)
  const told = JSON.parse((await verb('status', '--json')).stdout) as {
    key_refused: object
    streams: { stream: string; pending: number; parked: number; in_flight: number; invalid: number; rejected: number }[]
  }
  expect(told.key_refused).toMatchObject({ code: 'api_key_unknown' })
  for (const s of some(told.streams)) expect(s.parked + s.in_flight + s.invalid + s.rejected).toBe(s.pending)
  expect(told.streams.find(({ stream }) => stream === 'framework_answers')?.parked).toBeGreaterThan(0)
  const properties = "select row_id from source_row where stream = 'properties'"
  await world.pool.query(`update acceptance set accepted_hash = wanted_hash where row_id in (${properties})`)
  const parked = JSON.parse((await verb('parked', '--json', '--reason', 'requires_key')).stdout) as { reason: string }[]
  expect(parked.length).toBeGreaterThan(5)
  for (const { reason } of some(parked)) expect(reason).toMatch(words)
  expect((await verb('trace', 'H-0001')).stdout).toMatch(words)
  await world.pool.query(`update acceptance set accepted_hash = null where row_id in (${properties})`)
  expect(await callsOf(world)).toEqual(before)

  // A person is answered at once, by one call.
  expect(await verb('run', 'nightly-sync')).toMatchObject({ code: 1 })
  expect((await callsOf(world)).slice(before.length)).toEqual(['/api/v1/unit-types'])

  await restore(world)
  const second = await verb('run', 'nightly-sync')
  expect(second).toMatchObject({ code: 0, stderr: expect.not.stringContaining('401') })
  const mappings = (await callsOf(world)).filter((path) => path.endsWith('/company-mappings'))
  expect(mappings).toHaveLength(1)
  expect((await verb('status')).stdout).not.toMatch(words)
}, 120_000)

test('daemons stop the scheduled run, find the key accepted again by themselves, and the next run goes on', async () => {
  await using world = await startWorld({ hotels: 3, durations: slowMapping })
  await using folder = await workingFolder()
  await migrateToLatest(world.databaseUrl)
  const due = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000)
  await world.pool.query(
    `insert into run (job, trigger, scheduled_for, state, step, verdict)
     values ('nightly-sync', 'schedule', $1, 'finished', 'report', 'succeeded')`,
    [new Date(due.getTime() - 24 * 3_600_000)],
  )
  const environment = {
    ...world.environment(),
    NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE: `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`,
    NIGHTFERRY_EXCHANGE_PROBE_INTERVAL_MS: '500',
  }
  const daemons = [1, 2].map(() => start(folder.path, ['serve', ...common], environment))
  await accepted(world)
  await revoke(world)
  await vi.waitFor(async () => {
    const { rows } = await world.pool.query(`select failure ->> 'code' as code from run where state = 'failed'`)
    expect(rows).toEqual([{ code: 'exchange_unauthorized' }])
  }, patience)
  const before = (await callsOf(world)).length
  await vi.waitFor(async () => expect((await callsOf(world)).length).toBeGreaterThan(before + 1), patience)
  const probes = (await callsOf(world)).slice(before)
  // What was under way when the key was revoked may have come after the first 401.
  expect(new Set(probes.slice(1))).toEqual(new Set(['/api/v1/unit-types']))

  await restore(world)
  const said = () => daemons.map((daemon) => daemon.stderr()).join('')
  await vi.waitFor(() => expect(said()).toContain('api_key_accepted_again'), patience)
  expect(said().match(/api_key_accepted_again/g)).toHaveLength(1)
  expect(said().match(/"api_key_refused"/g)).toHaveLength(1)

  const next = await nightferry(folder.path, ['run', 'nightly-sync', ...common], environment)
  expect(next.code).toBe(0)
  for (const { child } of daemons) child.kill('SIGTERM')
  for (const { ended } of some(daemons)) expect(await ended).toMatchObject({ code: 143 })
}, 120_000)
