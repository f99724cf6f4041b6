import { describe, expect, it } from 'vitest'
import type { ListedTasks } from '../../../../src/db/tables/submission.ts'
import { afterReading } from '../../../../src/pipeline/push/sending/listed-tasks.ts'

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
const read = (earlier: ListedTasks | null, listed: ReturnType<typeof tasks>, own: string[] = []) =>
  afterReading(earlier, { tasks: listed, unfinished: [], ownEarlier: new Set(own), attemptedAt })

describe('a reading of the task list', () => {
  it.each<[string, ListedTasks | null, ReturnType<typeof tasks>, string[], boolean]>([
    ['nothing is listed', null, [], [], true],
    ['few tasks are listed, so that these are all', null, tasks(19, secondsLater(60)), [], true],
    ['all that is listed is younger', null, tasks(20, secondsLater(60)), [], false],
    ['no task says when it was created', null, tasks(20, null), [], false],
    [
      'a task is older, even if the clocks differ',
      null,
      [...tasks(20, secondsLater(60)), ...tasks(1, secondsLater(-300), 'old')],
      [],
      true,
    ],
    ['a task is older only if the clocks agree', null, tasks(20, secondsLater(-299)), [], false],
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

  it('remembers the newest tasks and the candidates, and no more', () => {
    const listed = tasks(1000, secondsLater(1))
    const seen = afterReading(null, { tasks: listed, unfinished: ['t5'], ownEarlier: new Set(), attemptedAt })
    expect(seen.newest).toEqual(listed.slice(0, 200).map(({ correlationId }) => correlationId))
    expect(seen.candidates).toEqual(['t5'])
  })
})
