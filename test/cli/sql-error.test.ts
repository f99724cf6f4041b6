import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { caretLines, queryFailed } from '../../src/cli/verbs/readers.ts'

/** What stands above the caret, with the width of each character as a terminal shows it. */
function above(query: string, position: number): string {
  const [line = '', caret = ''] = caretLines(query, position)
  let column = 0
  for (const character of line) {
    if (column === caret.indexOf('^')) return character
    column += stringWidth(character)
  }
  return ''
}

test.each([
  ['select x', 8],
  ['select\n  x,\n  y', 10],
  ["select '旅館', x", 14],
  ["select '😀', x", 13],
  ['select\tx', 8],
])('the caret of %j at %i stands under the x', (query, position) => {
  expect(above(query, position)).toBe('x')
})

test('the caret of what ends too early stands behind the end', () => {
  expect(caretLines('select 1 from', 14)).toEqual(['Line 1: select 1 from', `${' '.repeat(21)}^`])
})

test('the number of the line is told', () => {
  expect(caretLines('select\n  x,\n  y', 15)[0]).toBe('Line 3:   y')
})

test('a long line is cut on both sides of the caret', () => {
  const [line = '', caret = ''] = caretLines(`${'a'.repeat(500)} x ${'b'.repeat(500)}`, 502)
  expect(line.length).toBeLessThan(140)
  expect(line[caret.indexOf('^')]).toBe('x')
  expect(line).toMatch(/^Line 1: …a+ x b+…$/)
})

test('an error that is none of the server stays as it is', () => {
  const error = Object.assign(new Error('gone'), { code: 'ECONNRESET' })
  expect(queryFailed('select 1', error)).toBe(error)
})
