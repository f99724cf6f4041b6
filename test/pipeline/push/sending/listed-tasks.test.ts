import { describe, expect, it } from 'vitest'
import type { ListedTasks } from '../../../../src/db/tables/submission-tables.ts'
import { afterReading, earliestStamp } from '../../../../src/pipeline/push/sending/listed-tasks.ts'

const attemptedAt = new Date('2026-11-21T02:00:00Z')
const secondsLater = (seconds: number) => new Date(attemptedAt.getTime() + seconds * 1000)
const tasks = (count: number, createdAt: Date | null, prefix = 't') =>
  Array.from({ length: count }, (_, at) => ({ correlationId: `${prefix}${at}`, createdAt }))
const lastSeen = (change: Partial<ListedTasks> = {}): ListedTasks => ({
  candidates: [],
  newest: ['t7'],
  unbroken: true,
  ...change,
})
const earliest = earliestStamp(attemptedAt, 0, null)
const read = (earlier: ListedTasks | null, listed: ReturnType<typeof tasks>, own: string[] = [], knowsEarlier = true) =>
  afterReading(earlier, { tasks: listed, unfinished: [], ownEarlier: new Set(own), knowsEarlier, earliest })

describe('a reading of the task list', () => {
  it.each<[string, ListedTasks | null, ReturnType<typeof tasks>, string[], boolean]>([
    ['nothing is listed, although tasks of ours should be', null, [], [], false],
    ['one task is listed, and it is younger', null, tasks(1, secondsLater(60)), [], false],
    ['all that is listed is younger', null, tasks(20, secondsLater(60)), [], false],
    ['no task says when it was created', null, tasks(20, null), [], false],
    [
      'a task is older, even if the clocks differ',
      null,
      [...tasks(20, secondsLater(60)), ...tasks(1, secondsLater(-301), 'old')],
      [],
      true,
    ],
    ['a task is older only if the clocks agree', null, tasks(20, secondsLater(-300)), [], false],
    ['a task of ours is listed that was accepted before', null, tasks(20, secondsLater(60)), ['t3'], true],
    ['a task of the reading before is listed', lastSeen(), tasks(20, secondsLater(60)), [], true],
    [
      'none of the reading before is listed any more',
      lastSeen({ newest: ['gone'] }),
      tasks(20, secondsLater(60)),
      [],
      false,
    ],
    [
      'the reading before had missed something already',
      lastSeen({ unbroken: false }),
      tasks(20, secondsLater(60)),
      [],
      false,
    ],
  ])('reaches back, or does not, when %s', (_, earlier, listed, own, unbroken) => {
    expect(read(earlier, listed, own).unbroken).toBe(unbroken)
  })

  it.each<[string, Partial<ListedTasks>, boolean]>([
    ['has more tasks than the one before, and one of them', { length: 12 }, true],
    ['has more tasks than the one before, and none of them', { length: 12, newest: ['gone'] }, false],
    ['has as many tasks as the one before', { length: 20 }, false],
    ['has more tasks than one of which nobody noted how many', {}, false],
  ])('a reading proves that the one before was not cut off, or does not, when it %s', (_, before, unbroken) => {
    const earlier = lastSeen({ unbroken: false, ...before })
    expect(read(earlier, tasks(20, secondsLater(60)))).toMatchObject({ unbroken, length: 20 })
  })

  it('a reading of a short task list before the service has taken anything of ours is all that there is', () => {
    expect(read(null, [], [], false).unbroken).toBe(true)
    expect(read(null, tasks(9, secondsLater(60)), [], false).unbroken).toBe(true)
    expect(read(null, tasks(10, secondsLater(60)), [], false).unbroken).toBe(false)
  })

  it('remembers the newest tasks and the candidates, and no more', () => {
    const listed = tasks(1000, secondsLater(1))
    const seen = afterReading(null, {
      tasks: listed,
      unfinished: ['t5'],
      ownEarlier: new Set(),
      knowsEarlier: true,
      earliest,
    })
    expect(seen.newest).toEqual(listed.slice(0, 200).map(({ correlationId }) => correlationId))
    expect(seen.candidates).toEqual(['t5'])
  })
})

describe('the earliest stamp of a task of ours', () => {
  const minutes = (stamp: Date) => (stamp.getTime() - attemptedAt.getTime()) / 60_000
  it.each<[string, number | null, { lowMs: number; highMs: number } | null, number]>([
    ['five minutes before the attempt while the clocks agree', 0, { lowMs: -500, highMs: 500 }, -5 - 500 / 60_000],
    ['earlier by as much as the clock of the service is behind', 0, { lowMs: -600_000, highMs: -599_000 }, -15],
    ['earlier by as much as that clock was behind at the attempt', -600_000, { lowMs: 0, highMs: 1_000 }, -15],
    ['no later because that clock is ahead', 3_600_000, { lowMs: 3_600_000, highMs: 3_601_000 }, -5],
    ['an hour earlier where no answer says how late it is there', null, null, -65],
  ])('the earliest stamp of a task of ours is %s', (_, atAttempt, now, expected) => {
    expect(minutes(earliestStamp(attemptedAt, atAttempt, now))).toBeCloseTo(expected, 6)
  })
})
