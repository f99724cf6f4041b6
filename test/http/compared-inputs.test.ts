import { expect, it } from 'vitest'
import { comparedInputs, type Trace } from '../../console/src/trace.ts'

/** What the page of a hotel says of an input that was sent so and came back so. */
function verdict(sent: string, back: string): string | undefined {
  const rows = [{ stream: 'calculator_inputs', content: { year: 2025, inputs: { v: sent } } }]
  const value = { direction: 'input', period_year: 2025, period_month: null, variable_id: 'v', variable_name: 'V' }
  const values = [{ ...value, value: back }] as unknown as Parameters<typeof comparedInputs>[1]
  return comparedInputs({ rows } as unknown as Trace, values)[0]?.verdict
}

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
  ['', '0'],
  ['.', '0'],
  ['0x10', '16'],
  ['a', 'b'],
])('two numbers that differ in a digit, and what is no number, are different: %j, %j', (sent, back) => {
  expect(verdict(sent, back)).toBe('different')
})

it('a text that came back as it was sent is the same', () => {
  expect(verdict('1.0', '1.0')).toBe('the same')
})
