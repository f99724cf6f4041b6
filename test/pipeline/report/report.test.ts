import { describe, expect, it } from 'vitest'
import type { StreamReport, SubmissionReport } from '../../../src/db/runs/report-rows.ts'
import type { SearchReport } from '../../../src/db/runs/search-reports.ts'
import { imbalances, judge } from '../../../src/pipeline/report/report.ts'
import { some } from '../../helpers/some.ts'

const nothing: Required<StreamReport> = {
  stream: 'properties',
  read: 0,
  folded: 0,
  unchanged: 0,
  changed: 0,
  null_cursor: 0,
  capture: 'cursor',
  protection: 'transactions',
  lacks: null,
  whole: null,
  whole_detail: null,
  hotels_asked: 0,
  gone: 0,
  returned: 0,
  pending: 0,
  invalid: 0,
  parked: 0,
  withheld: 0,
  held: 0,
  held_gone: 0,
  behind: 0,
  unsent: 0,
  unconfigured: 0,
  sent: 0,
  confirmed: 0,
  inferred: 0,
  rejected: 0,
  rejected_again: 0,
  suspended: 0,
  invalid_suspended: 0,
  unknown: 0,
  awaited: 0,
}
const well: Required<StreamReport> = {
  ...nothing,
  read: 9,
  folded: 1,
  unchanged: 3,
  changed: 5,
  pending: 5,
  sent: 5,
  confirmed: 3,
  inferred: 2,
}
const submission = { unmatched: 0 } as SubmissionReport
const search: SearchReport = {
  submission_id: 1,
  correlation_id: 'c',
  task_status: 'Success',
  pages: 2,
  failed_pages: 0,
  companies: 2,
  calculators: 2,
  values: 2,
  added: 2,
  changed: 0,
  removed: 0,
  quarantined: 0,
  unchanged: 0,
  bytes: 0,
  careful_pages: 0,
  first_care: null,
  gone_companies: 0,
  gone_calculators: 0,
  withheld: null,
  first_error: null,
  left_out_properties: [],
}

describe('the balance', () => {
  it('holds when every row is accounted for', () => {
    expect(imbalances([nothing, well])).toEqual([])
  })

  it.each([
    [{ read: 10 }, 'properties: read is 10, but folded + unchanged + changed is 9'],
    [
      { pending: 6 },
      'properties: pending is 6, but invalid + parked + withheld + held + behind + unsent + unconfigured + sent is 5',
    ],
    [{ unknown: 1 }, 'properties: sent is 5, but confirmed + inferred + rejected + unknown + awaited is 6'],
  ])('names the sum that %j breaks', (change, sentence) => {
    expect(imbalances([well, { ...well, ...change }])).toEqual([sentence])
  })

  it.each([
    ['read', 'folded', 'unchanged', 'changed'],
    ['pending', 'invalid', 'parked', 'withheld', 'held', 'behind', 'unsent', 'unconfigured', 'sent'],
    ['sent', 'confirmed', 'inferred', 'rejected', 'unknown'],
  ] as const)('the balance of %s counts each of its parts', (...names) => {
    for (const part of some(names.slice(1))) expect(imbalances([{ ...well, [part]: well[part] + 1 }])).not.toEqual([])
  })
})

describe('the verdict', () => {
  it('the verdict is succeeded, with nothing to remark, when all was accepted and loaded', () => {
    expect(judge({ streams: [well], submissions: [submission], searches: [search] })).toEqual({
      verdict: 'succeeded',
      remarks: [],
    })
  })

  it('the verdict is failed when the counts do not add up, whatever else there is', () => {
    expect(
      judge({ streams: [well, { ...well, pending: 6, rejected: 0 }], submissions: [submission], searches: [search] }),
    ).toEqual({
      verdict: 'failed',
      remarks: [
        'The counts do not add up. properties: pending is 6, but invalid + parked + withheld + held + behind + unsent + unconfigured + sent is 5.',
      ],
    })
  })

  it.each<[Partial<StreamReport>, string]>([
    [{ confirmed: 2, rejected: 1 }, '1 row rejected by the service.'],
    [{ pending: 7, invalid: 2 }, '2 rows invalid, and not sent.'],
    [{ confirmed: 2, unknown: 1 }, '1 row sent, but the service does not say what became of them'],
    [{ pending: 6, withheld: 1 }, '1 row rejected before and unchanged since, and not sent again.'],
    [{ pending: 6, parked: 1 }, '1 row parked: what they require is not accepted.'],
    [{ null_cursor: 1 }, '1 row without a cursor, read every time; the view rows_without_cursor names them.'],
  ])('the verdict is partial and says why: %j', (change, remark) => {
    const { verdict, remarks } = judge({
      streams: [{ ...well, ...change }],
      submissions: [submission],
      searches: [search],
    })
    expect(verdict).toBe('partial')
    expect(remarks).toEqual([expect.stringContaining(remark)])
  })

  it('adds the rows of all streams up', () => {
    const refused = { ...well, confirmed: 2, rejected: 1 }
    expect(judge({ streams: [refused, refused], submissions: [], searches: [] }).remarks).toEqual([
      '2 rows rejected by the service.',
    ])
  })

  it.each<[Partial<SearchReport>, string]>([
    [{ failed_pages: 1, first_error: 'cut short' }, '1 page of the search could not be loaded: cut short'],
    [{ quarantined: 3 }, '3 parts of the pages were left out'],
    [{ withheld: 'it returned too little' }, 'the search does not prove absence: it returned too little.'],
  ])('the verdict is partial when the search has %j', (change, remark) => {
    const { verdict, remarks } = judge({
      streams: [well],
      submissions: [submission],
      searches: [{ ...search, ...change }],
    })
    expect(verdict).toBe('partial')
    expect(remarks).toEqual([expect.stringContaining(remark)])
  })

  it('the verdict is partial when the service complains of rows that were not sent', () => {
    const said = { partner_id: 'H-9', year: 2025, code: 'OutOfRange', reason: 'Too much.', why: 'it is so' }
    const unmatched = { ...submission, submission_id: 7, unmatched: 2, unmatched_examples: [said, { why: 'empty' }] }
    expect(judge({ streams: [well], submissions: [unmatched, submission], searches: [search] })).toEqual({
      verdict: 'partial',
      remarks: [
        '2 error rows or entries of result files match nothing that was sent, such as in submission 7: partner_id H-9, year 2025, OutOfRange: Too much. (it is so); nothing at all (empty).',
      ],
    })
  })
})
