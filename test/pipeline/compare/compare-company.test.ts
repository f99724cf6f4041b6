import { describe, expect, it } from 'vitest'
import { mayBeSameAnswer } from '../../../src/pipeline/compare/answers.ts'
import {
  compareCompany,
  type Judge,
  type SentRow,
  type Stored,
  type Value,
} from '../../../src/pipeline/compare/compare-company.ts'

let numbered = 0
/** A row that wrote `value` to `thing`; of no thing: nobody can tell what it should have left. */
const row = (thing: string | null, value: string, over: Partial<SentRow> = {}): SentRow => ({
  row_id: ++numbered,
  stream: 'things',
  partner_id: 'H-1',
  content: { thing, value },
  standing: 'settled',
  accepted_at: '2026-11-20T02:30:00.000Z',
  ...over,
})
const unitless = (value: string) => ({ value, unit: null })
const judge: Judge = {
  expected: ({ content }) => {
    const { thing, value } = content as { thing: string | null; value: string }
    return thing === null ? null : { thing, value: unitless(value), shown: `shown ${value}` }
  },
  incomparable: (sent, stored) => stored.value === `maybe ${sent.value}`,
}
const page = (things: Record<string, string[]>, changedAt: Date | null = null) =>
  new Map<string, Stored>(
    Object.entries(things).map(([thing, values]) => [thing, { values: values.map(unitless), changedAt }]),
  )
const compared = (rows: SentRow[], stored: ReturnType<typeof page> | null) =>
  compareCompany({ companyId: 'C', rows, stored }, judge)
const nothing = { rows: 0, equal: 0, absent: 0, different: 0, unjudged: 0, unsettled: 0 }

describe('the rows of one company, held against a page', () => {
  it('a row is equal if one of the values there is its own', () => {
    expect(compared([row('rooms', '12')], page({ rooms: ['9', '12'] }))).toEqual({
      counts: { ...nothing, rows: 1, equal: 1 },
      findings: [],
      unjudged: [],
    })
  })

  it('a value that is not there is absent, and it is told whether the company is there', () => {
    for (const [stored, cause] of [
      [page({ brand: ['x'] }), 'value_not_returned'],
      [page({ rooms: [] }), 'value_not_returned'],
      [null, 'company_not_returned'],
    ] as const) {
      const { counts, findings } = compared([row('rooms', '12')], stored)
      expect(counts).toEqual({ ...nothing, rows: 1, absent: 1 })
      expect(findings).toMatchObject([{ kind: 'absent', company_id: 'C', sent: 'shown 12', stored: null, cause }])
    }
  })

  it('another value is different, with all that stands there and since when', () => {
    const { counts, findings } = compared(
      [row('rooms', '12')],
      page({ rooms: ['9', '10'] }, new Date('2026-11-21T00:00:00Z')),
    )
    expect(counts).toEqual({ ...nothing, rows: 1, different: 1 })
    expect(findings).toMatchObject([
      { kind: 'different', stored: '9 / 10', cause: null, changed_there_at: '2026-11-21T00:00:00.000Z' },
    ])
  })

  it('of several rows that write the same thing one that is right is enough', () => {
    const rows = [row('rooms', '9'), row('rooms', '12')]
    expect(compared(rows, page({ rooms: ['12'] })).counts).toEqual({ ...nothing, rows: 2, equal: 2 })
  })

  it('of several that are wrong only the one that was accepted last is named', () => {
    const [first, last] = [
      row('rooms', '9', { accepted_at: '2026-11-19T02:30:00.000Z' }),
      row('rooms', '12', { accepted_at: '2026-11-20T02:30:00.000Z' }),
    ]
    const { counts, findings, unjudged } = compared([last, first], page({ rooms: ['7'] }))
    expect(counts).toEqual({ ...nothing, rows: 2, different: 1, unjudged: 1 })
    expect(unjudged).toEqual([])
    expect(findings.map(({ row_id }) => row_id)).toEqual([last.row_id])
  })

  it('nothing is said of a thing that an unsettled row writes as well, unless it is right', () => {
    const rows = [row('rooms', '12'), row('rooms', '13', { standing: 'unsettled' })]
    expect(compared(rows, page({ rooms: ['13'] }))).toEqual({
      counts: { ...nothing, rows: 1, unsettled: 1, unjudged: 1 },
      findings: [],
      unjudged: [rows[0]?.row_id],
    })
    expect(compared(rows, page({ rooms: ['12'] })).counts).toEqual({ ...nothing, rows: 1, unsettled: 1, equal: 1 })
    const unsettled = [row('rooms', '13', { standing: 'unsettled' })]
    expect(compared(unsettled, null).counts).toEqual({ ...nothing, unsettled: 1 })
  })

  it('a row that is silent keeps nothing from being said of a thing that it writes as well', () => {
    const silent = () => row('rooms', '12', { standing: 'silent' })
    expect(compared([row('rooms', '12'), silent()], page({})).counts).toEqual({
      ...{ ...nothing, rows: 1, unsettled: 1, absent: 1 },
    })
    expect(compared([row('rooms', '13'), silent()], page({ rooms: ['12'] })).counts).toMatchObject({ different: 1 })
    expect(compared([silent()], null)).toEqual({ counts: { ...nothing, unsettled: 1 }, findings: [], unjudged: [] })
  })

  it('a value that may be the same, and a row of which nobody can tell what it left, are not judged', () => {
    const { counts, findings } = compared(
      [row('rooms', '12'), row(null, 'whatever'), row(null, 'other')],
      page({ rooms: ['maybe 12'] }),
    )
    expect(counts).toEqual({ ...nothing, rows: 3, unjudged: 3 })
    expect(findings).toEqual([])
  })

  it('a value is its unit as well, and text that reads like one is none', () => {
    const answers: Judge = {
      expected: ({ content }) => ({ thing: 'sold', value: content as Value, shown: '' }),
      incomparable: mayBeSameAnswer,
    }
    const verdict = (sent: Value, ...values: Value[]) => {
      const sold = row('sold', '', { content: sent })
      const stored = new Map([['sold', { values, changedAt: null }]])
      const { counts, findings } = compareCompany({ companyId: 'C', rows: [sold], stored }, answers)
      return [counts.equal, counts.different, counts.unjudged, findings[0]?.stored]
    }
    const litres = { value: 'text Litres per unit sold', unit: null }
    const power = { value: 'text kWh per unit bought', unit: null }
    expect(verdict(litres, power)).toEqual([0, 1, 0, power.value])
    expect(verdict(litres, litres)).toEqual([1, 0, 0, undefined])
    expect(verdict({ value: 'text A', unit: 'b' }, { value: 'text A unit b', unit: null })).toEqual([
      ...[0, 1, 0],
      'text A unit b',
    ])
    expect(verdict({ value: 'number 1', unit: 'b' }, { value: 'number 2', unit: 'b' })).toEqual([
      ...[0, 1, 0],
      'number 2 unit b',
    ])
  })
})
