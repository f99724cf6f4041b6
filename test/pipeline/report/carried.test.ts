import { describe, expect, it } from 'vitest'
import { notCarriedRemarks } from '../../../src/pipeline/report/carried.ts'

type Given = Parameters<typeof notCarriedRemarks>

const quiet = {
  changed: 0,
  invalid: 0,
  invalid_suspended: 0,
  behind: 0,
  sent: 0,
  confirmed: 0,
  inferred: 0,
  rejected_again: 0,
}
const unsearched: Given[1] = { calculators: [], broughtNothing: false, documents: [] }

const rows = (...streams: Partial<typeof quiet>[]) =>
  notCarriedRemarks(
    streams.map((stream) => ({ ...quiet, ...stream })),
    unsearched,
  )
const searched = (searches: Partial<Given[1]>) => notCarriedRemarks([], { ...unsearched, ...searches })

describe('a run carried the data through', () => {
  it.each([
    ['nothing changed', {}],
    ['all that it sent was taken', { changed: 500, sent: 500, confirmed: 300, inferred: 200 }],
    ['some of what it sent was taken', { changed: 500, sent: 500, confirmed: 5 }],
    ['the only row that it sent was rejected', { changed: 1, sent: 1 }],
    ['the few rows that it sent were rejected', { changed: 9, sent: 9 }],
    ['what it sent were rows that are tried again each night', { sent: 40, rejected_again: 40 }],
    ['hundreds of rows have been invalid for weeks', { invalid: 700 }],
    [
      'those of suspended hotels are invalid',
      { changed: 500, invalid: 700, invalid_suspended: 700, sent: 3, confirmed: 3 },
    ],
    ['hundreds of rows have been invalid for weeks, and few are new', { changed: 9, invalid: 700 }],
  ])('a run carried the data through if %s', (_, stream) => {
    expect(rows(stream)).toEqual([])
  })

  it.each([
    ['none of 90,000 rows was taken', { changed: 90_000, sent: 90_000 }, '0 of 90,000 rows'],
    ['rows of an earlier night were sent and not taken', { sent: 4_000 }, '0 of 4,000 rows'],
    ['fewer than one in a hundred were taken', { sent: 90_000, confirmed: 800, inferred: 99 }, '899 of 90,000 rows'],
    ['all that changed is invalid', { changed: 5_000, invalid: 5_000 }, '0 of 5,000 rows'],
    ['what changed is behind tasks that have not ended', { changed: 40, behind: 40 }, '0 of 40 rows'],
    ['none was taken beside rows that are tried again', { sent: 52, rejected_again: 40 }, '0 of 12 rows'],
    ['ten rows were sent, and none was taken', { sent: 10 }, '0 of 10 rows'],
  ])('a run did not carry the data through if %s', (_, stream, words) => {
    expect(rows(stream)).toEqual([
      `This run does not count as one that carried the data through: the service took ${words}.`,
    ])
  })

  it('a run carried the data through if the service took rows of one of its streams', () => {
    expect(rows({ sent: 50 }, { sent: 20, inferred: 20 })).toEqual([])
    expect(rows({ sent: 5 }, { sent: 5 })).toHaveLength(1)
  })

  it('a run carried the data through if a page was loaded, or none was listed', () => {
    expect(searched({ calculators: [{ pages: 100, failed_pages: 99 }] })).toEqual([])
    expect(searched({ calculators: [{ pages: 0, failed_pages: 0 }] })).toEqual([])
  })

  it('a run did not carry the data through if its pages failed, or its search brought none', () => {
    const said = (searches: Partial<Given[1]>) => searched(searches).join()
    expect(said({ calculators: [{ pages: 1, failed_pages: 1 }] })).toContain(
      '0 of 1 page of the calculator search were loaded',
    )
    expect(said({ calculators: [{ pages: 512, failed_pages: 508 }] })).toContain('4 of 512 pages')
    expect(said({ calculators: [{ pages: 0, failed_pages: 0 }], broughtNothing: true })).toContain(
      'the calculator search brought nothing',
    )
  })

  it('a run did not carry the data through if none of its searches for documents brought a page', () => {
    const search = { pages: 4, failed_pages: 4, state: 'settled' as const, error_code: null }
    const refused = { pages: 0, failed_pages: 0, state: 'refused' as const, error_code: 'validation_failed' }
    expect(searched({ documents: [search, { ...search, failed_pages: 0 }] })).toEqual([])
    expect(searched({ documents: [refused, { ...refused, state: 'settled', error_code: null }] })).toEqual([])
    expect(searched({ documents: [search, refused] }).join()).toContain('0 of 4 pages of the searches for documents')
    expect(searched({ documents: [refused] }).join()).toContain('the searches for documents brought nothing')
  })
})
