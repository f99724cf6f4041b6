import { expect, it } from 'vitest'
import { forecastLine } from '../../src/cli/verbs/status.ts'

const moment = (time: string) => new Date(`2026-11-26T${time}:00Z`)

it.each<[string, string | null, string | null, boolean, string | null]>([
  ['has no deadline, and no end that anybody knows', null, null, false, null],
  [
    'has time left, and no end that anybody knows',
    null,
    '06:30',
    false,
    'Run 1 of nightly-sync has to end by 2026-11-26 06:30:00 UTC; when it will, nobody can tell yet.',
  ],
  [
    'has passed its deadline, and has no end that anybody knows',
    null,
    '06:30',
    true,
    'Run 1 of nightly-sync had to end by 2026-11-26 06:30:00 UTC, and has not; when it will, nobody can tell.',
  ],
  [
    'ends in time',
    '05:00',
    '06:30',
    false,
    'At this speed, run 1 of nightly-sync ends at 2026-11-26 05:00:00 UTC, and has to by 2026-11-26 06:30:00 UTC.',
  ],
  [
    'ends too late',
    '07:00',
    '06:30',
    true,
    'At this speed, run 1 of nightly-sync ends at 2026-11-26 07:00:00 UTC, and has to by 2026-11-26 06:30:00 UTC: too late.',
  ],
])('status tells of a run that %s', (_which, endsAt, deadline, late, told) => {
  const run = { run_id: 1, job: 'nightly-sync', step: 'pull', started_at: moment('02:00'), late }
  const at = (time: string | null) => (time === null ? null : moment(time))
  expect(forecastLine({ ...run, ends_at: at(endsAt), deadline: at(deadline) })).toBe(told)
})
