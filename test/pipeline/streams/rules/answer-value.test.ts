import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { answerValue, type ValueType, valueTypeOf } from '../../../../src/pipeline/streams/rules/answer-value.ts'
import { contract } from '../../../exchange/test-client.ts'

const answer = (type: ValueType, text: string) => answerValue(contract, type, text)
const problem = { problem: expect.any(String) }

describe('an answer', () => {
  it.each<[ValueType, string, unknown]>([
    ['text', '', { text: '' }],
    ['text', ' 12.50 ', { text: ' 12.50 ' }],
    ['number', '0', { number: 0 }],
    ['number', '-0.0', { number: -0 }],
    ['number', '12.50', { number: 12.5 }],
    ['number', '+007', { number: 7 }],
    ['number', '-1e3', { number: -1000 }],
    ['number', '1E-7', { number: 1e-7 }],
    ['number', '9007199254740991', { number: 9007199254740991 }],
    ['number', '100000000000000000000000', { number: 1e23 }],
    ['number', '5e-324', { number: 5e-324 }],
    ['boolean', 'true', { boolean: true }],
    ['boolean', 'false', { boolean: false }],
    ['date', '2024-02-29', { dateIso: '2024-02-29' }],
    ['date_range', '2024-01-01/2024-01-01', { dateRangeFromDateIso: '2024-01-01', dateRangeToDateIso: '2024-01-01' }],
    ['list', '["a","b"]', { list: ['a', 'b'] }],
    ['list', 'a, b', { list: ['a', 'b'] }],
  ])('an answer of type %s reads %j', (type, text, value) => {
    expect(answer(type, text)).toEqual({ value })
  })

  it.each<[ValueType, string]>([
    ['number', ''],
    ['number', '.5'],
    ['number', '5.'],
    ['number', '1,5'],
    ['number', '0x10'],
    ['number', ' 1'],
    ['number', 'NaN'],
    ['number', 'Infinity'],
    ['number', '1e999'],
    ['number', '1e-999'],
    ['number', '9007199254740993'],
    ['number', '0.1234567890123456789'],
    ['number', '12\n'],
    ['boolean', 'True'],
    ['boolean', 't'],
    ['boolean', ''],
    ['date', '2023-02-29'],
    ['date', '2024-2-9'],
    ['date', '2024-02-29T00:00:00Z'],
    ['date', ''],
    ['date_range', '2024-01-02/2024-01-01'],
    ['date_range', '2024-01-01'],
    ['date_range', '2024-01-01/2024-01-02/2024-01-03'],
    ['list', ''],
    ['list', 'a,,b'],
    ['list', '[]'],
    ['list', '["a"'],
    ['list', '[1]'],
    ['list', '["a",""]'],
  ])('an answer of type %s refuses %j', (type, text) => {
    expect(answer(type, text)).toEqual(problem)
  })

  it('shows no more than the beginning of a long value that is wrong', () => {
    expect(answer('number', 'x'.repeat(10_000))).toEqual({ problem: `'${'x'.repeat(60)}…' is no number` })
  })

  it('keeps every digit of every number that it accepts', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: 1, maxLength: 20 })
    const numerals = fc
      .tuple(fc.constantFrom('', '-', '+'), digits, fc.option(digits), fc.option(fc.integer({ min: -330, max: 330 })))
      .map(([sign, whole, fraction, exponent]) =>
        [sign, whole, fraction === null ? '' : `.${fraction}`, exponent === null ? '' : `e${exponent}`].join(''),
      )
    fc.assert(
      fc.property(numerals, (text) => {
        const read = answer('number', text)
        if ('problem' in read) return
        const written = String(read.value.number)
        expect(exactly(written), text).toEqual(exactly(text))
      }),
      { numRuns: 2_000 },
    )
  })

  it('accepts every number as JavaScript writes it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(answer('number', String(number))).toEqual({ value: { number: number === 0 ? 0 : number } })
      }),
      { numRuns: 2_000 },
    )
  })
})

/** A decimal as an exact ratio to a power of ten, by integers only. */
function exactly(text: string): { digits: bigint; power: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('+', '').split('.')
  let digits = BigInt(`${whole}${fraction}`.replace('-', '') || '0')
  if (digits === 0n) return { digits, power: 0 }
  let power = Number(exponent) - fraction.length
  for (; digits % 10n === 0n; power++) digits /= 10n
  return { digits: mantissa.startsWith('-') ? -digits : digits, power }
}

describe("a framework's value type", () => {
  it.each([
    ['Text', 'text'],
    ['NUMBER', 'number'],
    ['DateRange', 'date_range'],
    ['date-range', 'date_range'],
    ['List', 'list'],
    ['Hologram', null],
    ['', null],
    [null, null],
  ])('%j means %j', (name, type) => {
    expect(valueTypeOf(name)).toBe(type)
  })
})
