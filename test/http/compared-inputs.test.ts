import { expect, it } from 'vitest'
import type { ListHotelValuesData } from '../../console/src/api-types.ts'
import { comparedInputs, type Trace } from '../../console/src/trace.ts'

type Row = { state?: string; year?: number; month?: number; inputs: Record<string, string | null> }
type Shown = { year?: number; month?: number | null; value: string; direction?: string; since?: string }

/** What the page of a hotel says of its inputs. */
function compared(rows: readonly Row[], shown: readonly Shown[], more = false) {
  const traced = rows.map(({ state = 'accepted', year = 2025, month, inputs }) => {
    const content = { year, ...(month !== undefined && { month }), inputs }
    return { stream: 'calculator_inputs', state, content }
  })
  const values = shown.map(({ year = 2025, month = null, value, direction = 'input', since = null }) => {
    const period = { period_year: year, period_month: month }
    return { direction, ...period, variable_id: 'v', variable_name: 'V', value, not_renewed_since: since }
  })
  return comparedInputs({ rows: traced } as unknown as Trace, { values: values as ListHotelValuesData['values'], more })
}

/** What it says of one that was sent so and came back so. */
const verdict = (sent: string | null, back: string) =>
  compared([{ inputs: { v: sent } }], [{ value: back }])[0]?.verdict

it.each(['pending', 'rejected', 'invalid', 'parked', 'held', 'in_flight', 'unknown'])(
  'an input of a row that is %s is not judged by what came back',
  (state) => {
    const rows = [{ state, inputs: { v: '105' } }]
    expect(compared(rows, [{ value: '100' }])).toMatchObject([{ input: '105', state, verdict: 'not accepted' }])
    expect(compared(rows, [])).toMatchObject([{ state, verdict: 'not there' }])
  },
)

it('an input that the partner has no longer is not among those at the partner', () => {
  expect(compared([{ state: 'gone', inputs: { v: '105' } }], [{ value: '100' }])).toEqual([])
})

it.each([null, '', ' '])('an input that was sent blank, as %j, is the same where nothing came back', (sent) => {
  expect(compared([{ inputs: { v: sent } }], [])).toMatchObject([{ input: '', back: '', verdict: 'the same' }])
  expect(verdict(sent, '5')).toBe('different')
})

it('an input beyond the values that the page was given was not looked at, and a newer one that is missing is not there', () => {
  const rows = [
    { year: 2026, month: 2, inputs: { v: '1' } },
    { year: 2025, month: 12, inputs: { w: '1' } },
    { year: 2025, inputs: { v: '1' } },
    { year: 2024, month: 3, inputs: { v: '' } },
  ]
  const shown = [{ year: 2025, month: 12, value: '1' }]
  const told = (more: boolean) => compared(rows, shown, more).map(({ period, verdict: one }) => `${period} ${one}`)
  expect(told(true)).toEqual(['2026-02 not there', '2025-12 not looked at', '2025 not there', '2024-03 not looked at'])
  expect(told(false)).toEqual(['2026-02 not there', '2025-12 not there', '2025 not there', '2024-03 the same'])
})

it('an input that the last searches did not show is no proof that the service has it', () => {
  const rows = [{ inputs: { v: '100' } }]
  const old = { value: '100', since: '2026-11-26T02:40:00.000Z' }
  expect(compared(rows, [old])).toMatchObject([{ back: '100', verdict: 'not shown since 2026-11-26 02:40:00' }])
  expect(compared(rows, [old, { value: '100' }])).toMatchObject([{ verdict: 'the same' }])
})

it.each([
  ['9007199254740993', '9007199254740993.00'],
  ['0.10', '.1'],
  ['-1200', '-1.2e3'],
  ['+5', '5'],
  ['0', '-0.00'],
  ['1E-7', '0.0000001'],
])('two ways to write a number are the same number: %s, %s', (sent, back) => {
  expect(verdict(sent, back)).toBe('the same number')
})

it.each([
  ['9007199254740993', '9007199254740992'],
  ['0.1', '0.10000000000000000001'],
  ['1', '-1'],
  ['10', '100'],
  ['1e400', '1e401'],
  ['.', '0'],
  ['0x10', '16'],
  ['a', 'b'],
])('two numbers that differ in a digit, and what is no number, are different: %j, %j', (sent, back) => {
  expect(verdict(sent, back)).toBe('different')
})

it('a text that came back as it was sent is the same', () => {
  expect(verdict('1.0', '1.0')).toBe('the same')
})
