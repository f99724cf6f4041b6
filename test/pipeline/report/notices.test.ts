import { expect, test } from 'vitest'
import type { StreamReport, SubmissionReport } from '../../../src/db/runs/report-rows.ts'
import { noticesOf } from '../../../src/pipeline/report/notices.ts'

const stream = (change: Partial<StreamReport>) =>
  ({ stream: 'properties', protection: 'transactions', gone: 0, returned: 0, ...change }) as StreamReport

test('a night on which nothing is gone and every cursor is protected has no notice', () => {
  expect(noticesOf([stream({}), stream({ protection: null })])).toEqual([])
})

test.each<[Partial<StreamReport>, RegExp]>([
  [{ gone: 3 }, /^3 of the rows known are gone at the partner.*nightferry drift/],
  [{ returned: 2 }, /^2 of the rows that had been gone are there again/],
  [{ protection: 'none' }, /^The cursor of properties, properties is no time: .*committed late is missed/],
  [{ protection: 'overlap' }, /of properties, properties, a row committed late .*partner\.overlapMs/],
  [
    { protection: 'overlap', lacks: 'standby' },
    /is a standby, .*of properties, properties, a row committed late .*next full comparison/,
  ],
  [{ protection: 'overlap', lacks: 'track_activities' }, /track_activities is off .*of properties, properties, a row/],
  [{ whole: 'capture' }, /^The capture of properties, properties was changed: all rows were read/],
  [
    { whole: 'cursor', whole_detail: 'was at (date) and is number (bigint)' },
    /^The cursor of properties, properties was changed \(was at \(date\) and is number \(bigint\)\).*nightferry reread/,
  ],
  [{ whole: 'query' }, /^The query of properties, properties was changed.*all rows were read/],
  [{ whole: 'server', whole_detail: 'was 1 and is 2' }, /^Another server .*restored \(was 1 and is 2\).*runbook\.md/],
  [
    { whole: 'clock', whole_detail: 'by 720 minutes' },
    /^The clock of the partner's database was put back .*\(by 720 minutes\).*all rows of/,
  ],
  [{ whole: 'newest_row', whole_detail: 'H-1 carried 9' }, /^The newest known row .*\(H-1 carried 9\).*runbook\.md/],
])('the report says of %j what it means', (change, notice) => {
  const streams = [stream(change), stream({ ...change, gone: 0, returned: 0 }), stream({ stream: 'omissions' })]
  expect(noticesOf(streams)).toEqual([expect.stringMatching(notice)])
})

test('the report says nothing of a stream that was read whole as it should be', () => {
  expect(noticesOf([stream({ whole: 'first' }), stream({ whole: 'due' }), stream({ whole: 'reread' })])).toEqual([])
})

test('the report says of how many hotels the rows were read again, and why', () => {
  expect(noticesOf([stream({ hotels_asked: 2 })])).toEqual([
    'All properties of 2 hotels were read again, because rows contradict each other; what the partner has no longer is counted as gone, unless the query yields only what changed lately (fullEvery: never).',
  ])
})

test('the report says which requests were split, into how many, and what was found', () => {
  const part = (root_id: number | null, failed_alone = 0) => ({ root_id, failed_alone }) as SubmissionReport
  expect(noticesOf([], [part(null), part(3), part(3, 1), part(3), part(9), part(9), part(12, 1), part(12, 1)])).toEqual(
    [
      'Submission 3 was split into 3 requests, for its task ended in Error without naming a row; 1 row was found that it fails over.',
      'Submission 9 was split into 2 requests, for its task ended in Error without naming a row; no row was found that it fails over.',
      'Submission 12 was split into 2 requests, for its task ended in Error without naming a row; 2 rows were found that it fails over.',
    ],
  )
})

test('the notice of a request that was split because its answer was too long does not say that its task ended in Error', () => {
  const whole = { submission_id: 3, root_id: null, error_code: 'task_too_large' } as SubmissionReport
  const part = { submission_id: 4, root_id: 3, error_code: null, failed_alone: 0 } as SubmissionReport
  expect(noticesOf([], [whole, part, part])).toEqual([
    "Submission 3 was split into 2 requests, for the service's answer about its task was too long to be read; no row was found that it fails over.",
  ])
})

test('streams that were read whole stand in the order of the report, those of an earlier run behind them', () => {
  const streams = ['properties', 'omissions'].map((name) => stream({ stream: name }))
  const whole = ['waste', 'omissions', 'properties'].map(
    (name) => ({ stream: name, whole: 'server', whole_detail: null }) as const,
  )
  expect(noticesOf(streams, [], whole)).toEqual([
    expect.stringContaining('all rows of properties, omissions, waste were read'),
  ])
})
