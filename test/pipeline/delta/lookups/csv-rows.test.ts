import { expect, test } from 'vitest'
import { type CsvFault, csvRows } from '../../../../src/pipeline/delta/lookups/csv-rows.ts'

const cellsOf = (text: string, separator = ',') => Array.from(csvRows(text, separator), ({ cells }) => cells)
const faultOf = (text: string) => {
  try {
    cellsOf(text)
  } catch (error) {
    const { line, message } = error as CsvFault
    return `${line}: ${message}`
  }
  return null
}

test('a CSV text has a row per line, whatever ends its lines, and none for an empty one', () => {
  for (const end of ['\n', '\r\n', '\r']) {
    expect(cellsOf(['code,id', 'a,1', '', 'b,2'].join(end))).toEqual([
      ['code', 'id'],
      ['a', '1'],
      ['b', '2'],
    ])
  }
  expect(cellsOf('code,id\n')).toEqual([['code', 'id']])
  expect(cellsOf('')).toEqual([])
})

test('cells of a CSV text may be empty, in quotes, and hold separators, line ends and quotes there', () => {
  expect(cellsOf('a,,c\n,\n"x,y","","say ""hi"" ""","two\r\nlines"')).toEqual([
    ['a', '', 'c'],
    ['', ''],
    ['x,y', '', 'say "hi" "', 'two\r\nlines'],
  ])
  expect(cellsOf('a\tb', '\t')).toEqual([['a', 'b']])
  expect(cellsOf('a;b,c', ';')).toEqual([['a', 'b,c']])
})

test('each row of a CSV text knows the line on which it begins, also behind a cell of several lines', () => {
  expect(Array.from(csvRows('code\n"a\nb\r\nc"\n\nd', ','), ({ line }) => line)).toEqual([1, 2, 6])
})

test('what is no CSV is refused with its line', () => {
  expect(faultOf('code,id\n"a,1\nb,2')).toBe('2: a cell begins with a quote, and no quote ends it')
  expect(faultOf('code\n"a"b')).toContain('2: something stands behind the quote')
  expect(faultOf('code\na"b')).toContain('2: the cell a"b has a quote in it')
  expect(faultOf('code,id\na, 1')).toContain("2: the cell ' 1' begins or ends with a blank")
})
