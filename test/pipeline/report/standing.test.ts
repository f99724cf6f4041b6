import { expect, test } from 'vitest'
import { judgeFreshness } from '../../../src/pipeline/report/standing.ts'

const now = new Date('2026-11-21T07:00:00Z')
const hourMs = 3_600_000
const hoursAgo = (hours: number) => ({ started_at: new Date(now.getTime() - hours * hourMs), running: false })

test.each([
  ['a few hours old', 4, true],
  ['older than promised', 27, false],
  ['a little ahead, as two clocks differ', -0.1, true],
  ['a few hours ahead, by a clock that was wrong', -4, false],
  ['a month ahead, by a clock that was wrong', -720, false],
])('data %s are fresh: %#', (_, hours, fresh) => {
  const judged = judgeFreshness(hoursAgo(hours), now, 26 * hourMs)
  expect(judged.fresh).toBe(fresh)
  expect(judged.why).toContain(hours < 0 ? 'hours from now' : 'hours ago')
})
