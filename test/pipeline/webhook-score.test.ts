import { describe, expect, it } from 'vitest'
import type { EndedTask } from '../../src/db/webhooks/webhook-records.ts'
import { newestTold, scoreOf, silenceWords } from '../../src/pipeline/webhook-score.ts'

const endedAt = new Date('2026-11-21T02:00:00Z')

/** A task that ended an hour ago, or `since`, and was told of so long after; null: not at all. */
function task(toldAfterMs: number | null, since_ms = 3_600_000): EndedTask {
  return {
    submission_id: 1,
    kind: 'framework_answers',
    correlation_id: 'c',
    terminal_at: endedAt,
    told_at: toldAfterMs === null ? null : new Date(endedAt.getTime() + toldAfterMs),
    since_ms,
  }
}

describe('the score', () => {
  it('tells on time, late, lost and not yet apart', () => {
    const tasks = [task(-800), task(0), task(150_000), task(150_001), task(30_600_000), task(null), task(null, 150_000)]
    expect(scoreOf(tasks)).toMatchObject({ onTime: 3, late: 2, lost: 1, open: 1, first: 1, lostTasks: [tasks[5]] })
  })

  it('says how long before or after the end was found events came', () => {
    expect(scoreOf([task(-500), task(100), task(60_000)]).lagMs).toEqual({ median: 100, p95: 60_000 })
    expect(scoreOf([task(null)]).lagMs).toBeNull()
  })

  it('judges the newest twenty that say something, and passes over those that may yet be told of', () => {
    const newest = Array.from({ length: 30 }, () => task(null, 1_000))
    expect(newestTold([...newest, task(null), ...Array.from({ length: 40 }, () => task(10))])).toMatchObject({
      onTime: 19,
      late: 0,
      lost: 1,
    })
  })
})

describe('the warning', () => {
  it('comes when tasks ended and none was told of, or nothing listens', () => {
    expect(silenceWords([task(null), task(null)], true)).toContain('none told of the 2 tasks')
    expect(silenceWords([task(null)], true)).toContain('none told of the task that')
    expect(silenceWords([], false)).toContain('nightferry serve')
  })

  it('does not come when any was told of, however late, or when it is too early to say', () => {
    expect(silenceWords([task(null), task(30_600_000)], true)).toBeNull()
    expect(silenceWords([task(null, 1_000)], true)).toBeNull()
    expect(silenceWords([], true)).toBeNull()
  })
})
