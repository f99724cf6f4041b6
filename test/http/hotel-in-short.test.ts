import { expect, it } from 'vitest'
import {
  differencesOf,
  foreignOf,
  goneSince,
  happeningsOf,
  nothingOpenWords,
  type Trace,
} from '../../console/src/trace.ts'

const trace = ({ more = {}, ...given }: { more?: object; [part: string]: unknown }) =>
  ({
    streams: [],
    rows: [],
    submissions: [],
    actions: [],
    differences: [],
    row_differences: [],
    company: null,
    ...given,
    more: { rows: 0, submissions: 0, differences: 0, row_differences: 0, actions: 0, ...more },
  }) as unknown as Trace

it('inputs at the service that were never sent are no differences, and are counted apart', () => {
  const foreign = trace({ differences: [{ kind: 'foreign' }, { kind: 'foreign' }] })
  expect([differencesOf(foreign), foreignOf(foreign)]).toEqual([0, 2])
  const both = trace({ differences: [{ kind: 'different' }, { kind: 'foreign' }], row_differences: [{}] })
  expect([differencesOf(both), foreignOf(both)]).toEqual([2, 1])
})

it('differences that the page was not given come after those it was, and those never sent come last', () => {
  const more = { differences: 40, row_differences: 5 }
  const cutWithin = trace({ differences: [{ kind: 'different' }, { kind: 'foreign' }], more })
  expect([differencesOf(cutWithin), foreignOf(cutWithin)]).toEqual([6, 41])
  const cutBefore = trace({ differences: [{ kind: 'different' }], more })
  expect([differencesOf(cutBefore), foreignOf(cutBefore)]).toEqual([46, 0])
})

it('a company that the service no longer returns is told of among what happened', () => {
  const removed_at = '2026-11-26T02:40:00.000Z'
  const company = { company_id: 'c', name: 'Bellevue', mapped_at: '2026-11-01T02:40:00.000Z', removed_at }
  const told = happeningsOf(trace({ company }))
  expect(told[0]).toMatchObject({ at: removed_at, words: 'the service no longer has its company' })
})

const submission = {
  submission_id: 12,
  run_id: 4,
  kind: 'properties',
  state: 'settled',
  task_status: 'Success',
  destination: null,
  rows: 3,
  confirmed: 3,
  inferred: 0,
  rejected: 0,
  unknown: 0,
  attempted_at: '2026-11-26T02:40:00.000Z',
  settled_at: '2026-11-26T03:40:00.000Z',
}
const toldOf = (given: object) =>
  happeningsOf(trace({ submissions: [{ ...submission, ...given }] })).map(({ way, words }) => `${way}: ${words}`)

it('a request that went to another destination is told of with its name', () => {
  expect(toldOf({})).toEqual([
    'came: request 12 ended in Success: 3 accepted',
    'sent: 3 rows in request 12 (properties)',
  ])
  expect(toldOf({ destination: 'staging' })).toEqual([
    'came: request 12 to staging ended in Success: 3 accepted',
    'sent: 3 rows in request 12 to staging (properties)',
  ])
})

it('rows that are gone at the partner are not among those of which every one is accepted', () => {
  const moments = ['2026-11-24T02:40:00.000Z', '2026-11-25T02:40:00.000Z']
  const rows = moments.map((gone_at) => ({ gone_at }))
  const of = (there: number, gone: number) => trace({ rows, streams: [{ rows: there, accepted: there, gone }] })
  expect([nothingOpenWords(of(2, 0)), goneSince(of(2, 0))]).toEqual(['Every row of this hotel is accepted.', null])
  expect([nothingOpenWords(of(2, 1)), goneSince(of(2, 1))]).toEqual([
    'Every row that the partner still has is accepted; 1 row is gone.',
    null,
  ])
  expect([nothingOpenWords(of(0, 2)), goneSince(of(0, 2))]).toEqual([
    'The partner has no row of this hotel any more; 2 rows are gone.',
    moments[1],
  ])
})

it.each([
  [{ state: 'abandoned', task_status: 'InProgress' }, 'here: request 12 was given up: 3 unknown'],
  [{ state: 'abandoned', task_status: null, attempted_at: null }, 'here: request 12 was given up: 3 unknown'],
  [{ state: 'lost', task_status: 'InProgress' }, 'came: the service no longer knows the task of request 12: 3 unknown'],
  [{ state: 'refused', task_status: null, unknown: 0, rejected: 3 }, 'came: request 12 was refused: 3 rejected'],
])('a request that ended as %j is not said to have ended as its task was last seen', (given, words) => {
  expect(toldOf({ confirmed: 0, unknown: 3, ...given })[0]).toBe(words)
})
