import { describe, expect, it } from 'vitest'
import {
  areWebhooksOnTime,
  firstListInMs,
  hasLasted,
  pollInMs,
  resendInMs,
  retryInMs,
  stretchedPollInMs,
  tellAgainInMs,
  useOfEvent,
} from '../../src/pipeline/when-to-look.ts'

describe('a poll', () => {
  it('comes soon, then less and less often, and never more often than that', () => {
    expect([0, 1, 2, 3, 4, 400].map((polls) => pollInMs(15_000, polls))).toEqual([
      1875, 3750, 7500, 15_000, 15_000, 15_000,
    ])
  })

  it('waits for an interval that cannot be halved so often', () => {
    expect(pollInMs(1, 0)).toBe(1)
  })
})

describe('a poll while webhooks are configured', () => {
  const settings = { intervalMs: 15_000, stretch: 4, longestMs: 45_000 }
  const waits = (standing: { onTime: boolean; told: boolean }, changes: Partial<typeof settings> = {}) =>
    [0, 1, 2, 3, 4, 400].map((polls) => stretchedPollInMs({ ...settings, ...changes }, polls, standing))
  const plain = [1875, 3750, 7500, 15_000, 15_000, 15_000]

  it('comes later than without them once the first three were made, up to the bound, while they are on time', () => {
    expect(waits({ onTime: true, told: false })).toEqual([1875, 3750, 7500, 45_000, 45_000, 45_000])
    expect(waits({ onTime: true, told: false }, { stretch: 2 }).at(-1)).toBe(30_000)
  })

  it('comes as without them when they are late or lost, or one told of an end that the service does not confirm', () => {
    expect(waits({ onTime: false, told: false })).toEqual(plain)
    expect(waits({ onTime: true, told: true })).toEqual(plain)
  })

  it('never comes more often than without them, whatever the bound', () => {
    expect(waits({ onTime: true, told: false }, { longestMs: 1_000 })).toEqual(plain)
  })
})

describe('webhooks', () => {
  const onTime = (onTimes: number, late = 0, lost = 0) => areWebhooksOnTime({ onTime: onTimes, late, lost })

  it('webhooks are not trusted before five tasks were told of', () => {
    expect([0, 4, 5, 20].map((tasks) => onTime(tasks))).toEqual([false, false, true, true])
  })

  it('webhooks are not trusted when one of fewer than twenty tasks was told of late, or not at all', () => {
    expect([onTime(18, 1), onTime(18, 0, 1), onTime(5, 0, 1), onTime(0, 20), onTime(0, 0, 20)]).toEqual(
      Array(5).fill(false),
    )
  })

  it('webhooks are trusted with one of twenty lost or late, and not with two', () => {
    expect([onTime(19, 1), onTime(19, 0, 1), onTime(18, 1, 1), onTime(18, 2)]).toEqual([true, true, false, false])
  })
})

describe('an event of a task', () => {
  it('brings a look only if it tells of an end that is not known, and a run is at work on it', () => {
    const known = (ended: boolean, running: boolean) => ({ ours: true, ended, running }) as const
    expect([
      useOfEvent(true, known(false, true)),
      useOfEvent(true, known(false, false)),
      useOfEvent(false, known(false, true)),
      useOfEvent(true, known(true, true)),
      useOfEvent(false, known(true, false)),
    ]).toEqual(['look', 'run_over', 'in_flight', 'ended', 'ended'])
  })

  it('an event of no request of ours waits only while one may yet turn out to be it', () => {
    expect([true, false].map((mayBe) => useOfEvent(true, { ours: false, mayBe }))).toEqual(['wait', 'not_ours'])
  })
})

describe('a call that failed', () => {
  it('a call that failed is made again after a second, then twice as long each time, and never later than a minute', () => {
    const waits = [1, 2, 3, 6, 7, 8, 1_000_000].map((failures) => retryInMs(failures, null))
    expect(waits).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000])
  })

  it('a call that failed is not made before the service wants it, nor sooner than it would be without its wish', () => {
    expect(retryInMs(1, 45_000)).toBe(45_000)
    expect(retryInMs(6, 0)).toBe(32_000)
  })
})

describe('a request whose answer was lost', () => {
  const settings = { pollIntervalMs: 15_000, uncertainGraceMs: 30_000, unlistedGraceMs: 3_600_000 }
  const seen = { mayRun: false, reachesBack: true, attemptedMsAgo: 12_000, lostMsAgo: 10_000 }

  it('a request whose answer was lost is looked for in the task list at once, or when the service wants to be asked again', () => {
    expect([firstListInMs(null), firstListInMs(0), firstListInMs(20_000)]).toEqual([500, 500, 20_000])
  })

  it('a request whose answer was lost is sent again once the grace since its answer was lost has passed', () => {
    expect(resendInMs(seen, settings)).toBe(20_000)
    expect(resendInMs({ ...seen, lostMsAgo: 30_000 }, settings)).toBe(0)
    expect(resendInMs({ ...seen, lostMsAgo: 90_000 }, settings)).toBe(0)
  })

  it('a request whose answer was lost is not sent while a task that may be its own runs, however long that takes', () => {
    expect(resendInMs({ ...seen, mayRun: true, lostMsAgo: 90_000_000 }, settings)).toBe(15_000)
  })

  it('a request whose answer was lost is sent unseen only when the list has been too short for as long as a task can stay unlisted', () => {
    const short = { ...seen, reachesBack: false, lostMsAgo: 90_000 }
    expect(resendInMs({ ...short, attemptedMsAgo: 3_599_999 }, settings)).toBe(15_000)
    expect(resendInMs({ ...short, attemptedMsAgo: 3_600_000 }, settings)).toBe(0)
  })
})

it('a message is sent again after half a minute, then twice as long each time, and once an hour at least', () => {
  expect([1, 2, 3, 8, 100].map(tellAgainInMs)).toEqual([30_000, 60_000, 120_000, 3_600_000, 3_600_000])
})

it('something has lasted when its time is full', () => {
  const since = new Date(1_000)
  expect([999, 1000, 1001].map((ms) => hasLasted(since, new Date(1_000 + ms), 1_000))).toEqual([false, true, true])
})
