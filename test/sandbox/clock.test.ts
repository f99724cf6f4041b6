import { afterEach, describe, expect, it, vi } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { type AdjustableClock, createWarpedClock } from '../../src/sandbox/clock.ts'
import { patience } from '../helpers/patience.ts'
import { mapHotels, partnerId } from './bodies.ts'
import type { ErrorBody } from './documents.ts'
import { manualClock } from './manual-clock.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const never = new AbortController().signal

const clockOf = (options: { timeWarp?: number; notBefore?: number } = {}) =>
  createWarpedClock({ timeWarp: 1, notBefore: 0, ...options })

describe('a warped clock', () => {
  it('starts at real time, and at a later time that was reached before', () => {
    const before = Date.now()
    expect(clockOf().now()).toBeGreaterThanOrEqual(before)
    expect(clockOf({ notBefore: before - dayMs }).now()).toBeLessThan(before + hourMs)
    expect(clockOf({ notBefore: before + dayMs }).now()).toBeGreaterThanOrEqual(before + dayMs)
  })

  it('lets an hour pass in a moment, and keeps real time for those who ask for it', async () => {
    const clock = clockOf({ timeWarp: 1_000_000 })
    const start = clock.now()
    await clock.wait(hourMs, never)
    expect(clock.now()).toBeGreaterThanOrEqual(start + hourMs)
    expect(clock.wallNow() - Date.now()).toBeLessThan(1000)
  })

  it.each<[string, (clock: AdjustableClock) => void]>([
    ['it leaps ahead', (clock) => clock.advance(dayMs)],
    ['it is made to run faster', (clock) => clock.setTimeWarp(10_000_000)],
  ])('wakes what waits when %s', async (_how, change) => {
    const clock = clockOf()
    const start = clock.now()
    const waiting = clock.wait(dayMs, never)
    change(clock)
    await waiting
    expect(clock.now()).toBeGreaterThanOrEqual(start + dayMs)
  })

  it('lets go on waiting what a leap does not reach', async () => {
    const clock = clockOf()
    const woken = vi.fn<() => void>()
    const stop = new AbortController()
    const waiting = clock.wait(dayMs, stop.signal).then(woken)
    clock.advance(dayMs - hourMs)
    await clock.wait(1, never)
    expect(woken).not.toHaveBeenCalled()
    clock.advance(hourMs)
    await waiting
  })

  it('ends a wait at once when nobody wants it any more', async () => {
    const stop = new AbortController()
    const waiting = clockOf().wait(dayMs, stop.signal)
    stop.abort()
    await waiting
    await clockOf().wait(dayMs, stop.signal)
  })

  it('never goes back, whatever is done to it', () => {
    const clock = clockOf({ timeWarp: 1000 })
    let latest = clock.now()
    for (const factor of [1, 50_000, 1, 3]) {
      clock.setTimeWarp(factor)
      clock.advance(factor)
      expect(clock.now()).toBeGreaterThanOrEqual(latest + factor)
      latest = clock.now()
    }
  })
})

describe("the sandbox's time", () => {
  let sandbox: OpenSandbox
  afterEach(() => sandbox.close())
  type Shown = { now: string; timeWarp: number | null }
  const path = '/sandbox/clock'
  const read = async () => (await sandbox.call<Shown>('GET', path)).body
  const advance = (ms: number) => sandbox.call<Shown>('POST', `${path}/advance`, { body: { ms } })

  it('a warped clock is shown, runs faster when told to, and leaps to a time or by a span', async () => {
    sandbox = await openSandbox({ timeWarp: 60 })
    const start = await read()
    expect(start.timeWarp).toBe(60)
    const later = new Date(Date.parse(start.now) + dayMs).toISOString()
    const set = await sandbox.call<Shown>('PUT', path, { body: { now: later, timeWarp: 1 } })
    expect(set).toMatchObject({ status: 200, body: { timeWarp: 1 } })
    expect(Date.parse(set.body.now)).toBeGreaterThanOrEqual(Date.parse(later))
    const advanced = (await advance(hourMs)).body
    expect(Date.parse(advanced.now)).toBeGreaterThanOrEqual(Date.parse(set.body.now) + hourMs)
  })

  it('carries tasks through statuses that last an hour', async () => {
    sandbox = await openSandbox({ durations: { pendingMs: hourMs, scheduledMs: hourMs, jitter: 0 } })
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    expect((await sandbox.task(id)).status).toBe('Pending')
    await advance(hourMs)
    await vi.waitFor(async () => expect((await sandbox.task(id)).status).toBe('Scheduled'), patience)
    await advance(hourMs)
    expect((await sandbox.finished(id)).status).toBe('Success')
  })

  it('a leap of the clock shows in the Date of answers, in tasks, and in what pages say was changed', async () => {
    sandbox = await openSandbox()
    await sandbox.run('companyMappings', mapHotels(1))
    const leapt = Date.parse((await advance(2 * dayMs)).body.now)
    await sandbox.run('companiesUpsert', {
      customIdentifierId: catalogue.customIdentifierId,
      companies: [
        {
          identifier: partnerId(1),
          customProperties: [{ propertyId: catalogue.brandPropertyId, value: 'Aurora' }],
        },
      ],
    })
    await sandbox.run('standardHoldersUpsert', {
      customIdentifierId: catalogue.customIdentifierId,
      holders: [
        { identifier: partnerId(1), standardId: catalogue.standards.find((one) => one.levels.length === 0)?.id },
      ],
    })
    const companies = await sandbox.run('companiesSearch', { customPropertyIds: [catalogue.brandPropertyId] })
    const holders = await sandbox.run('standardHoldersSearch', {})
    const pages: unknown[] = [...(await sandbox.pages(companies)), ...(await sandbox.pages(holders))]
    const changed = [...JSON.stringify(pages).matchAll(/"changedAt":"([^"]+)"/g)].map(([, time]) => time)
    const { headers } = await fetch(sandbox.url + contract.endpoints.unitTypes.path, {
      headers: { authorization: 'demo-key' },
    })
    const told = [headers.get('date'), companies.createdAt, ...changed].map((time) => Date.parse(time ?? ''))
    expect(told).toHaveLength(4)
    // A Date is of whole seconds.
    expect(told.filter((time) => !(time > leapt - 1000))).toEqual([])
  })

  it('refuses to go back, to stand still and to be set without a key', async () => {
    sandbox = await openSandbox()
    const put = (body: unknown, key: string | null = 'demo-key') => sandbox.call<ErrorBody>('PUT', path, { body, key })
    expect(await put({ now: '2020-01-01T00:00:00Z' })).toMatchObject({
      status: 409,
      body: { errorCode: 'clock_cannot_go_back' },
    })
    for (const body of [{ timeWarp: 0.5 }, { timeWarp: '2' }, { now: 'tomorrow' }, { factor: 60 }, {}]) {
      expect(await put(body)).toMatchObject({ status: 400, body: { errorCode: 'body_invalid' } })
    }
    for (const body of [{ ms: -1 }, { ms: 1, seconds: 1 }]) {
      expect((await sandbox.call('POST', `${path}/advance`, { body })).status).toBe(400)
    }
    expect((await put({ timeWarp: 2 }, null)).status).toBe(401)
    expect((await read()).timeWarp).toBe(1)
  })

  it('cannot be set where the caller brought the clock', async () => {
    sandbox = await openSandbox({ clock: manualClock() })
    expect((await read()).timeWarp).toBeNull()
    expect(await sandbox.call('POST', `${path}/advance`, { body: { ms: 1 } })).toMatchObject({
      status: 409,
      body: { errorCode: 'clock_not_adjustable' },
    })
  })

  it('does not go back over a restart, neither an orderly one nor one after a crash', async () => {
    sandbox = await openSandbox()
    const leapt = (await advance(dayMs)).body.now
    await sandbox.stop()
    await sandbox.start()
    expect(Date.parse((await read()).now)).toBeGreaterThanOrEqual(Date.parse(leapt))

    await advance(dayMs)
    const id = await sandbox.submit('companyMappings', mapHotels(1))
    const { createdAt } = await sandbox.task(id)
    await sandbox.stop()
    // What was written when it stopped is not there after a crash; the newest line of the log is.
    await sandbox.pool.query('update sandbox.world set clock_at = null')
    await sandbox.start()
    expect(Date.parse((await read()).now)).toBeGreaterThanOrEqual(Date.parse(createdAt))
  })

  it('a warped clock is kept while it runs, so that little of it is lost when the process is killed', async () => {
    sandbox = await openSandbox({ timeWarp: 10_000 })
    const kept = async () => {
      const { rows } = await sandbox.pool.query<{ at: Date | null }>('select clock_at as at from sandbox.world')
      return rows[0]?.at?.getTime() ?? 0
    }
    const { now } = await read()
    await vi.waitFor(async () => expect(await kept()).toBeGreaterThan(Date.parse(now)), { timeout: 60_000 })
  })
})
