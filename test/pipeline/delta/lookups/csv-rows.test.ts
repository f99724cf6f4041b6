import { expect, test } from 'vitest'
import { type CsvRow, takeCsvRows } from '../../../../src/pipeline/delta/lookups/csv-rows.ts'

const rowsOf = async (text: string, separator = ',') => {
  const rows: CsvRow[] = []
  await takeCsvRows(Buffer.from(text), separator, (row) => rows.push(row) > 0)
  return rows
}
const cellsOf = async (text: string, separator = ',') => (await rowsOf(text, separator)).map(({ cells }) => cells)

test('a CSV text has a row per line, whatever ends its lines, and none for an empty one', async () => {
  for (const end of ['\n', '\r\n', '\r']) {
    expect(await cellsOf(['code,id', 'a,1', '', 'b,2'].join(end))).toEqual([
      ['code', 'id'],
      ['a', '1'],
      ['b', '2'],
    ])
  }
  expect(await cellsOf('code,id\n')).toEqual([['code', 'id']])
  expect(await cellsOf('')).toEqual([])
})

test('cells of a CSV text may be empty, in quotes, and hold separators, line ends and quotes there', async () => {
  expect(await cellsOf('a,,c\n,\n"x,y","","say ""hi"" ""","two\r\nlines"')).toEqual([
    ['a', '', 'c'],
    ['', ''],
    ['x,y', '', 'say "hi" "', 'two\r\nlines'],
  ])
  expect(await cellsOf('a\tb', '\t')).toEqual([['a', 'b']])
  expect(await cellsOf('a;b,c', ';')).toEqual([['a', 'b,c']])
})

test('a CSV text may begin with a byte order mark, and end its lines in several ways', async () => {
  expect(await cellsOf('\ufeff"code",id\r\na,1\nb,2\rc,3')).toEqual([
    ['code', 'id'],
    ['a', '1'],
    ['b', '2'],
    ['c', '3'],
  ])
})

test('rows of a CSV text may have more or fewer cells than the first, and none is taken behind the last one wanted', async () => {
  const taken: (readonly string[])[] = []
  await takeCsvRows(Buffer.from('code,id\na\nb,2,x\n"c'), ',', ({ cells }) => taken.push(cells) < 3)
  expect(taken).toEqual([['code', 'id'], ['a'], ['b', '2', 'x']])
})

test('each row of a CSV text knows the line on which it begins, also behind a cell of several lines', async () => {
  const linesOf = async (text: string) => (await rowsOf(text)).map(({ line }) => line)
  expect(await linesOf('code\n"a\nb\r\nc"\n\nd')).toEqual([1, 2, 6])
  expect(await linesOf('\ufeff\r\n\r\ncode,id\r\n"a\r\nb","\r\n"\r\nc,1')).toEqual([3, 4, 7])
})

test.each([
  ['code,id\n"a,1\nb,2', 2, 'a cell begins with a quote, and no quote ends it'],
  ['code,id\n\n\n"a\r\nb","1', 5, 'a cell begins with a quote, and no quote ends it'],
  ['code\n"a"b', 2, 'something stands behind the quote that ends a cell'],
  ['\ufeff\n"code"b', 2, 'something stands behind the quote that ends a cell'],
  ['code,id\n"a\n",1\n"b,2\n"c",3', 4, 'something stands behind the quote that ends a cell'],
  ['code\na"b', 2, 'a cell without quotes around it has a quote in it'],
  ['code,id\n"a\r\nb", "1"', 3, 'a cell without quotes around it has a quote in it'],
  ['code,id\na, 1', 2, "the cell ' 1' begins or ends with a blank"],
  ['code,id\r\n"a\r\n ",é\u00a0\r\n', 3, "the cell 'é\u00a0' begins or ends with a blank"],
])('what is no CSV is refused with the line on which its cell begins: %j', async (text, line, words) => {
  await expect(rowsOf(text)).rejects.toMatchObject({ line, message: expect.stringContaining(words) })
})

test('blanks within quotes belong to the cell of a CSV text', async () => {
  expect(await cellsOf('" a ",b\n"\t","\u00a0"')).toEqual([
    [' a ', 'b'],
    ['\t', '\u00a0'],
  ])
})
