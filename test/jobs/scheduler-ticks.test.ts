import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { inspectedLogger, troubleTo } from '../helpers/leaks.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
  vi.setSystemTime('2026-11-24T02:10:30Z')
})
afterEach(() => {
  vi.useRealTimers()
})

/** A scheduler whose every tick ends at its first look at the clock, and when these were. */
function ticking(): { ticks: Date[]; stop: () => Promise<void> } {
  const ticks: Date[] = []
  const deps = {
    config: settings.parse({ jobs: { 'nightly-sync': { schedule: '30 2 * * *' } } }),
    tellTrouble: troubleTo(inspectedLogger()),
    now: () => new Date(),
    readClock: async () => {
      ticks.push(new Date())
      throw new Error('that is enough of this tick')
    },
  } as unknown as Deps
  return { ticks, stop: startScheduler(deps, nightlySync, new Date()).stop }
}

it('the scheduler looks at once, and then as each minute begins', async () => {
  const { ticks, stop } = ticking()
  await vi.advanceTimersByTimeAsync(2 * minuteMs)
  await stop()
  await vi.advanceTimersByTimeAsync(5 * minuteMs)
  expect(ticks.map((at) => at.toISOString().slice(11, 19))).toEqual(['02:10:30', '02:11:00', '02:12:00'])
})

it.each([
  ['back by an hour', -hourMs],
  ['ahead by an hour', hourMs],
])('the scheduler looks every minute although the clock is set %s', async (_, by) => {
  const { ticks, stop } = ticking()
  await vi.advanceTimersByTimeAsync(minuteMs)
  const before = ticks.length
  vi.setSystemTime(Date.now() + by)
  await vi.advanceTimersByTimeAsync(5 * minuteMs)
  await stop()
  expect(ticks.length - before).toBeGreaterThanOrEqual(5)
})

it('the scheduler looks every minute although the process is always seconds late', async () => {
  const { ticks, stop } = ticking()
  for (let minute = 0; minute < 5; minute++) {
    await vi.advanceTimersByTimeAsync(minuteMs - 3_000)
    // Something else had the processor while the timer ran out.
    vi.setSystemTime(Date.now() + 3_000)
  }
  await vi.advanceTimersByTimeAsync(minuteMs)
  await stop()
  expect(ticks.length).toBeGreaterThanOrEqual(6)
})
