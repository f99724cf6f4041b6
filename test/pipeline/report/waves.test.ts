import { expect, test } from 'vitest'
import { type WaveSubmission, wavesOf } from '../../../src/db/runs/wave-reports.ts'

const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 2, minute))

function submission(submission_id: number, rows: number, more: Partial<WaveSubmission> = {}): WaveSubmission {
  return {
    submission_id,
    kind: 'framework_answers',
    partition: '',
    state: 'settled',
    rows,
    parent_id: null,
    planned_at: at(submission_id),
    attempted_at: at(submission_id),
    settled_at: at(submission_id + 1),
    released_by: [],
    ...more,
  }
}

const shape = (submissions: readonly WaveSubmission[]) =>
  wavesOf(submissions).map(({ wave, rows, submissions: own }) => [wave, rows, own.map((s) => s.submission_id)])

test('the parts of a split request stand in its wave, and their rows count once', () => {
  const released_by = [{ submission_id: 1, rows: 4 }]
  expect(
    shape([
      submission(1, 2),
      submission(2, 4, { released_by }),
      submission(3, 2, { parent_id: 2 }),
      submission(4, 2, { parent_id: 2 }),
      submission(5, 1, { parent_id: 4 }),
    ]),
  ).toEqual([
    [1, 2, [1]],
    [2, 4, [2, 3, 4, 5]],
  ])
})

test('what a part released stands in the wave after the split request', () => {
  expect(
    shape([
      submission(1, 2),
      submission(2, 1, { parent_id: 1 }),
      submission(3, 7, { released_by: [{ submission_id: 2, rows: 7 }] }),
    ]),
  ).toEqual([
    [1, 2, [1, 2]],
    [2, 7, [3]],
  ])
})

test('a part of a request that an earlier run split counts for itself', () => {
  expect(shape([submission(9, 3, { parent_id: 4 })])).toEqual([[1, 3, [9]]])
})
