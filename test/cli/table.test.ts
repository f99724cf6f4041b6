import stringWidth from 'string-width'
import { expect, test } from 'vitest'
import { table } from '../../src/cli/show/table.ts'

const columns = ['hotel', 'rows', 'reason', 'at (UTC)']
const rows = [
  [
    'H-0001',
    12,
    'its properties row was rejected by the service (NotFound: nobody knows it): fix that one',
    '2026-11-22 02:00:05',
  ],
  ['H-0002', 1234, '旅館の名前が長すぎるので、この行は送られませんでした', '2026-11-22 02:00:06'],
  ['H-0003', 5, 'b920ed57-b349-8063-8ca5-e516d6203f0f/b920ed57-b349-8063-8ca5-e516d6203f0f', null],
] as const

const widthsOf = (text: string) => text.split('\n').map((line) => stringWidth(line))
const dense = (text: string) => text.replaceAll(/[\s─]/g, '')

test('a table is as wide as its cells, one line per row, where nobody says how wide the terminal is', () => {
  const lines = table(columns, rows).split('\n')
  expect(lines).toHaveLength(5)
  expect(lines[2]).toContain('fix that one  2026-11-22 02:00:05')
})

test.each([120, 100, 80, 60, 52])('a table fits a terminal of %i columns, and loses nothing', (width) => {
  const text = table(columns, rows, width)
  expect(Math.max(...widthsOf(text))).toBeLessThanOrEqual(width)
  expect(text).toMatch(/─{20}/)
  // Column by column, so that the pieces of a cell stand together again.
  const counted = (of: string) => Array.from(dense(of)).toSorted().join('')
  expect(counted(text)).toBe(counted(table(columns, rows)))
})

test('a table that fits is not changed', () => {
  expect(table(columns, rows, 200)).toBe(table(columns, rows))
})

test('only columns of text become narrower, and words stay whole where they can', () => {
  const text = table(columns, rows.slice(0, 1), 80)
  expect(text).toMatch(/^H-0001 {4}12 {2}its properties row/m)
  expect(text).toMatch(/2026-11-22 02:00:05$/m)
  expect(text).not.toMatch(/propert$/m)
})

test.each([30, 20])(
  'a table becomes a list of the cells of each row where even that does not fit %i columns',
  (width) => {
    const text = table(columns, rows, width)
    expect(Math.max(...widthsOf(text))).toBeLessThanOrEqual(width)
    expect(text).toMatch(/^hotel +H-0001$/m)
    expect(text).toMatch(/^rows +1234$/m)
  },
)

test('a list of cells has numbers that stand side by side on lines of their own, and loses none', () => {
  const counts = Array.from({ length: 12 }, (_, index) => `count ${index}`)
  const cells = counts.map((_, index) => index * 1000)
  const text = table(['stream', ...counts, 'since'], [['calculator_inputs', ...cells, '2026-11-22 02:00:05']], 80)
  expect(text.split('\n')).toEqual([
    '──────────────────',
    'stream  calculator_inputs',
    'count 0 0, count 1 1000, count 2 2000, count 3 3000, count 4 4000, count 5 5000,',
    'count 6 6000, count 7 7000, count 8 8000, count 9 9000, count 10 10000,',
    'count 11 11000',
    'since   2026-11-22 02:00:05',
  ])
})

test('the words of a narrow column stay whole where others leave it the room', () => {
  const text = table(['job', 'started (UTC)', 'why'], [['nightly-sync', '2026-11-22 02:00:05', 'x'.repeat(90)]], 36)
  expect(text).toMatch(/^nightly-sync {2}2026-11-22 {2}x+$/m)
})

test('a table without rows shows its columns', () => {
  expect(table(['a', 'b'], [], 80)).toBe('a  b\n────')
})
