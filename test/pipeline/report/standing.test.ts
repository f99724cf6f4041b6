import { expect, test } from 'vitest'
import { judgeFreshness, nightSentence, runToTell } from '../../../src/pipeline/report/standing.ts'

const now = new Date('2026-11-21T07:00:00Z')
const hourMs = 3_600_000
const hoursAgo = (hours: number, job = 'nightly-sync') => ({
  job,
  started_at: new Date(now.getTime() - hours * hourMs),
  passed_over: null,
  running: false,
})

test.each([
  ['a few hours old', 4, true],
  ['older than promised', 27, false],
  ['a little ahead, as two clocks differ', -0.1, true],
  ['a few hours ahead, by a clock that was wrong', -4, false],
  ['a month ahead, by a clock that was wrong', -720, false],
])('data %s are fresh: %#', (_, hours, fresh) => {
  const judged = judgeFreshness([hoursAgo(hours)], now, 26 * hourMs)
  expect(judged.fresh).toBe(fresh)
  expect(judged.why).toContain(hours < 0 ? 'hours from now' : 'hours ago')
})

test('data of several jobs are as fresh as those of the job that is behind, which is named', () => {
  const judged = (...carried: Parameters<typeof judgeFreshness>[0]) => judgeFreshness(carried, now, 26 * hourMs)
  const [push, pull] = [hoursAgo(5, 'push'), hoursAgo(2, 'pull-calculators')]
  expect(judged(pull, push)).toMatchObject({ fresh: true, since: push.started_at })
  expect(judged({ ...push, started_at: null }, pull)).toEqual({
    fresh: false,
    since: null,
    why: 'No run of push has carried the data through yet.',
  })
  expect(judged(pull, hoursAgo(27, 'push'))).toMatchObject({ fresh: false, why: expect.stringContaining('of push') })
  expect(judged(push, hoursAgo(-720, 'pull-calculators'))).toMatchObject({
    fresh: false,
    why: expect.stringContaining('of pull-calculators'),
  })
})

test('the sentence of a night that never ran and has no schedule names the jobs that have one', () => {
  const standing = { run: null, needs: [], held: [], remarks: 0 }
  const sentenceWith = (jobs: string[]) => nightSentence({ ...standing, jobs }, now, 'UTC').sentence
  expect(sentenceWith(['nightly-sync'])).toBe('No night has run yet.')
  expect(sentenceWith(['push', 'pull-calculators'])).toContain('push, pull-calculators')
})

test('the sentence of several jobs names the one of whose run it speaks', () => {
  const at = new Date('2026-11-21T02:10:00Z')
  const run = {
    run_id: 530,
    job: 'push',
    state: 'failed',
    step: 'push',
    verdict: null,
    started_at: at,
    finished_at: at,
  }
  const standing = { run: { ...run, failure: { message: 'It was away' } }, needs: [], held: [], remarks: 0 }
  const sentenceWith = (jobs: string[]) => nightSentence({ ...standing, jobs }, now, 'UTC').sentence
  expect(sentenceWith(['push', 'pull-calculators'])).toBe('The last run of push failed at 02:10: It was away.')
  expect(sentenceWith(['push'])).toBe('The last run failed at 02:10: It was away.')
})

test('the run to speak of is the one under way, or else one that failed, or else the newest', () => {
  const ran = (run_id: number, state: string, verdict: string | null = null) => ({ run_id, state, verdict })
  const chosen = (...runs: Parameters<typeof runToTell>[0]) => runToTell(runs)?.run_id
  expect(chosen()).toBeUndefined()
  expect(chosen(ran(1, 'running'), ran(2, 'failed'), ran(3, 'finished', 'succeeded'))).toBe(1)
  expect(chosen(ran(2, 'finished', 'failed'), ran(3, 'finished', 'succeeded'), ran(1, 'failed'))).toBe(2)
  expect(chosen(ran(2, 'finished', 'partial'), ran(3, 'finished', 'succeeded'))).toBe(3)
})
