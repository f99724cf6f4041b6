import { expect, onTestFinished, test, vi } from 'vitest'
import type { RunReport } from '../../src/pipeline/report/report.ts'
import { alteringProxy } from '../helpers/altering-proxy.ts'
import { some } from '../helpers/some.ts'
import { demoConfig, startWorld, type WorldOptions } from '../helpers/world.ts'
import { nightferry, start, workingFolder } from './nightferry-process.ts'

vi.setConfig({ testTimeout: 240_000 })

async function openWorld(hotels: number, durations: WorldOptions['durations'] = {}) {
  const world = await startWorld({ migrated: true, hotels, durations })
  onTestFinished(() => world[Symbol.asyncDispose]())
  const folder = await workingFolder()
  onTestFinished(() => folder[Symbol.asyncDispose]())
  const proxy = await alteringProxy(world.sandboxUrl, (_, answer) => answer)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const environment = { ...world.environment(), EXCHANGE_BASE_URL: proxy.url }
  const call = async (...args: string[]) =>
    await nightferry(folder.path, [...args, '--config', demoConfig], environment)
  const json = async <T>(...args: string[]): Promise<T> => {
    const { stdout, stderr } = await call(...args, '--json')
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as T
  }
  /** A night, with the bodies of the imports that it sent. */
  const night = async () => {
    const before = proxy.seen.length
    const report = await json<RunReport>('run', 'nightly-sync')
    const imports = proxy.seen.slice(before).filter(({ method, path }) => method === 'POST' && !path.includes('search'))
    return { report, imports, bodies: imports.map(({ body }) => body).join('\n') }
  }
  const begin = () => start(folder.path, ['run', 'nightly-sync', '--config', demoConfig], environment)
  return { world, call, json, night, begin }
}

/** The sums of a report, over its streams. */
function sumsOf({ streams }: RunReport) {
  const sum = (of: (stream: RunReport['streams'][number]) => number) => streams.reduce((all, one) => all + of(one), 0)
  return { parked: sum((s) => s.parked), suspended: sum((s) => s.suspended ?? 0), sent: sum((s) => s.sent) }
}

type Status = { streams: { stream: string; parked: number; suspended: number; oldest_pending: string | null }[] }
type Trace = {
  suspended: object | null
  rows: { stream: string; state: string; code: string | null; reason: string }[]
}

test('nothing of a suspended hotel is in a request, its rows are parked for it, and the night after sends them', async () => {
  const { world, call, json, night } = await openWorld(4)
  await night()
  expect(await json('hotels', 'suspend', 'H-0002', '--reason', 'sold')).toEqual({
    suspended: ['H-0002'],
    already: [],
    unknown: [],
    on_the_way: [],
    same_company: [],
  })
  await world.partnerPool.query(`update hotelier.hotel set name = name || ' on sale', updated_at = clock_timestamp()`)
  await world.partnerPool.query(`update hotelier.meter_reading set value = value + 1, updated_at = clock_timestamp()`)
  const { rows: taken } = await world.pool.query<{ company_id: string }>(
    `select company_id from mapping where partner_id = 'H-0002'`,
  )

  const kept = await night()
  expect(kept.bodies).toContain('H-0001')
  expect(kept.bodies).not.toContain('H-0002')
  expect(kept.bodies).not.toContain(taken[0]?.company_id)
  const sums = sumsOf(kept.report)
  expect(sums.parked).toBeGreaterThan(1)
  expect(sums).toMatchObject({ suspended: sums.parked })
  expect(kept.report.remarks.join(' ')).not.toContain('parked')
  expect(kept.report.notices).toContain(
    `${sums.parked} rows of suspended hotels, and not sent: nightferry hotels says which.`,
  )
  const status = await json<Status>('status')
  expect(status.streams.reduce((all, one) => all + one.parked, 0)).toBe(sums.parked)
  expect(status.streams.reduce((all, one) => all + one.suspended, 0)).toBe(sums.parked)
  expect(status.streams.find(({ stream }) => stream === 'properties')?.oldest_pending).toBeNull()
  const trace = await json<Trace>('trace', 'H-0002')
  expect(trace.suspended).toMatchObject({ by: 'hotel', reason: 'sold' })
  const parked = trace.rows.filter(({ state }) => state === 'parked')
  for (const row of some(parked)) {
    expect(row).toMatchObject({
      code: 'requires_suspended',
      reason: expect.stringContaining(': sold): nightferry hotels'),
    })
  }
  expect((await call('waves')).stdout).toContain('its hotel is suspended')
  expect((await call('hotels')).stdout).toMatch(/H-0002 .* sold/)
  const resent = (await call('resend', '--partner-id', 'H-0002', '--dry-run')).stdout
  expect(resent).toContain('are of suspended hotels, and wait until these are resumed')

  // What comes of it meanwhile is not sent either, and of each row only the newest goes out in the end.
  await world.partnerPool.query(
    `update hotelier.hotel set name = name || ' again', updated_at = clock_timestamp() where code = 'H-0002'`,
  )
  expect((await night()).bodies).not.toContain('H-0002')
  expect(await json('hotels', 'resume', 'H-0002')).toEqual({ resumed: ['H-0002'], already: [], unknown: [] })
  expect((await json<Trace>('trace', 'H-0002')).rows.map(({ code }) => code)).toContain('requires_next_run')
  const last = await night()
  expect(last.bodies).toContain('on sale again')
  expect(last.bodies).not.toMatch(/H-000[134]/)
  expect(sumsOf(last.report)).toMatchObject({ parked: 0, suspended: 0 })
  expect((await call('hotels')).stdout).toBe('No hotel is suspended.\n')
  const { rows } = await world.pool.query(`select verb, asked from action where verb <> 'approve' order by action_id`)
  expect(rows).toEqual([
    { verb: 'suspend', asked: { partnerId: 'H-0002', reason: 'sold' } },
    { verb: 'resume', asked: { partnerId: 'H-0002' } },
  ])
})

test('a pilot that is set before the first night sends its two hotels alone, and all others once it ends', async () => {
  const { world, call, json, night } = await openWorld(10)
  const refused = await call('hotels', 'pilot', 'H-0001', 'H-0003', '--reason', 'go-live')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('nothing was ever read of H-0001, H-0003')
  expect((await call('hotels')).stdout).toBe('No hotel is suspended.\n')
  expect(await json('hotels', 'pilot', 'H-0001', 'H-0003', '--reason', 'go-live', '--unknown')).toEqual({
    hotels: ['H-0001', 'H-0003'],
    unknown: ['H-0001', 'H-0003'],
    on_the_way: 0,
  })
  const first = await night()
  expect(first.imports.length).toBeGreaterThan(3)
  expect([...new Set(first.bodies.match(/H-\d{4}/g))].sort()).toEqual(['H-0001', 'H-0003'])
  const { rows: mapped } = await world.pool.query(`select partner_id from mapping order by 1`)
  expect(mapped).toEqual([{ partner_id: 'H-0001' }, { partner_id: 'H-0003' }])
  expect(sumsOf(first.report).suspended).toBe(sumsOf(first.report).parked)
  expect((await json<Trace>('trace', 'H-0002')).rows[0]).toMatchObject({
    state: 'parked',
    code: 'requires_suspended',
    reason: expect.stringContaining('its hotel is not in the pilot'),
  })

  expect(await json('hotels', 'resume', 'H-0002')).toMatchObject({ resumed: ['H-0002'] })
  const second = await night()
  expect([...new Set(second.bodies.match(/H-\d{4}/g))]).toEqual(['H-0002'])

  expect(await call('hotels', 'suspend', 'H-0004', '--reason', 'in dispute')).toMatchObject({ code: 0 })
  expect((await call('hotels', 'pilot', 'H-0004', '--reason', 'more')).stderr).toContain('H-0004 is suspended')
  expect(await json('hotels', 'pilot', '--end')).toEqual({ ended: true })
  expect((await call('hotels', 'pilot', '--end')).stderr).toContain('No pilot is on.')
  const third = await night()
  expect([...new Set(third.bodies.match(/H-\d{4}/g))]).toContain('H-0010')
  expect(third.bodies).not.toMatch(/H-000[1234]/)
})

test('suspending a hotel that nobody knows, or without a reason, changes nothing and says what to do', async () => {
  const { call, json, night } = await openWorld(1)
  await night()
  const unknown = await call('hotels', 'suspend', 'H-0001', 'h-0001', '--reason', 'sold')
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('was H-0001 meant?') })
  expect(unknown.stderr).toContain('--unknown')
  expect((await call('hotels', 'suspend', 'H-0001')).stderr).toContain('--reason')
  expect((await call('hotels', 'suspend', 'H-0001', '--reason', ' ')).stderr).toContain('A text is wanted')
  expect((await call('hotels', 'pilot')).stderr).toContain('--end')
  expect(await json('hotels')).toEqual({ pilot: null, suspended: [], more: false })
  expect(await json('hotels', 'suspend', 'H-9', '--reason', 'sold', '--unknown')).toMatchObject({ unknown: ['H-9'] })
  expect(await json('hotels', 'suspend', 'H-9', '--reason', 'audit')).toMatchObject({ suspended: [], already: ['H-9'] })
  expect(await json('hotels', 'resume', 'H-0001', 'H-9')).toMatchObject({ resumed: ['H-9'], already: ['H-0001'] })
})

test('of a hotel that is suspended after a night was killed only what was on its way goes on', async () => {
  const { world, call, json, night, begin } = await openWorld(4, {
    processing: { companyMappings: { baseMs: 20_000 } },
  })
  const killed = begin()
  onTestFinished(async () => {
    killed.child.kill('SIGKILL')
    await killed.ended
  })
  const look = async () => {
    expect(killed.child.exitCode, killed.stderr()).toBeNull()
    const { rows } = await world.pool.query(`select distinct state from submission where kind = 'company_mappings'`)
    expect(rows).toEqual([{ state: 'accepted' }])
  }
  await vi.waitFor(look, { timeout: 170_000, interval: 50 })
  killed.child.kill('SIGKILL')
  await killed.ended
  expect(await json('hotels', 'suspend', 'H-0002', '--reason', 'sold')).toMatchObject({
    on_the_way: [{ partner_id: 'H-0002', stream: 'properties' }],
  })
  const resumed = await night()
  expect(resumed.report.resumed).toBeGreaterThan(0)
  expect(resumed.bodies).toContain('H-0001')
  expect(resumed.bodies).not.toContain('H-0002')
  const { rows } = await world.pool.query(`select partner_id from mapping order by 1`)
  expect(rows).toHaveLength(4)
  expect(sumsOf(resumed.report).suspended).toBeGreaterThan(0)
  expect(await call('hotels', 'resume', 'H-0002')).toMatchObject({ code: 0 })
  const last = await night()
  expect([...new Set(last.bodies.match(/H-\d{4}/g))]).toEqual(['H-0002'])
})
