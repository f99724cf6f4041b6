import { expect, test } from 'vitest'
import { submissionsTable } from '../../src/cli/verbs/list-runs.ts'
import type { SubmissionReport } from '../../src/db/runs/report-rows.ts'

const request = (submission_id: number, parent_id: number | null): SubmissionReport => ({
  submission_id,
  parent_id,
  kind: 'calculators',
  partition: '',
  state: 'settled',
  correlation_id: null,
  task_status: 'Error',
  rows: 6,
  confirmed: 0,
  inferred: 0,
  rejected: 0,
  unknown: 6,
  attempts: 1,
  repeats: 0,
  unmatched: 0,
  unmatched_examples: [],
  root_id: null,
  failed_alone: 0,
  overdue_since: null,
  unknown_status: null,
  refusal_verdict: null,
  refusal_reason: null,
  planned_at: new Date(0),
  attempted_at: null,
  accepted_at: null,
  terminal_at: null,
  settled_at: null,
  error_code: null,
  error_message: null,
})

test('a request that was split names its parts, and each part names it', () => {
  const lines = submissionsTable([request(23, null), request(25, 23), request(26, 23), request(27, 25)]).split('\n')
  expect(lines.slice(2).map((line) => line.split('–').at(-1)?.trim())).toEqual([
    'split into 25 and 26',
    'part of 23; split into 27',
    'part of 23',
    'part of 25',
  ])
})
