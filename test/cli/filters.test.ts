import { describe, expect, it } from 'vitest'
import { csvOf } from '../../console/src/csv.ts'
import { sinceMoment } from '../../src/cli/option-values.ts'
import { csv } from '../../src/cli/show/readable.ts'
import { contentDifference, differenceWords, rowWords } from '../../src/cli/show/row-words.ts'

const now = new Date('2026-11-21T07:00:00Z')

describe('--since', () => {
  it.each([
    ['90m', '2026-11-21T05:30:00.000Z'],
    ['12h', '2026-11-20T19:00:00.000Z'],
    ['3d', '2026-11-18T07:00:00.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21 02:00', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T02:00:30', '2026-11-21T02:00:30.000Z'],
    ['2026-11-21T02:00+01:00', '2026-11-21T01:00:00.000Z'],
  ])('takes %s for %s', (text, moment) => {
    expect(sinceMoment(text, now).toISOString()).toBe(moment)
  })

  it.each(['yesterday', '', '3w', '-1d', '2026-13-01', '2026-11-21T25:00', '21.11.2026', '1e3d'])(
    'refuses %s',
    (text) => {
      expect(() => sinceMoment(text, now)).toThrow(/A time is wanted/)
    },
  )

  it.each(['2026-02-31', '2026-02-29', '2026-04-31T02:00', '2026-11-31T02:00+01:00', '2026-00-10'])(
    'refuses %s, a day that does not exist',
    (text) => {
      expect(() => sinceMoment(text, now)).toThrow(/A time is wanted/)
    },
  )
})

describe('CSV', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ['two\nlines', 'two\\u000alines'],
    ['=cmd|calc', "'=cmd|calc"],
    ['@sum', "'@sum"],
    ['+49 40', `"'+49 40"`],
    ['-12.5', '-12.5'],
    ['-2+3', "'-2+3"],
    ['\u202eevil', '\\u202eevil'],
  ])('writes %j as %s', (value, cell) => {
    expect(csv(['head'], [[value]])).toBe(`head\r\n${cell}\r\n`)
  })

  it.each([
    ['a;=1+1', "a;'=1+1"],
    ['no;=A1;-B1;x;@c', "no;'=A1;'-B1;x;'@c"],
    ['a; -2+3', "a; '-2+3"],
    ['a;"=1+1"', `a;"'=1+1"`],
    [';;+1', ";;'+1"],
    ['=a;=b', "'=a;'=b"],
    ['a;b', 'a;b'],
    ['a; b - c = d', 'a; b - c = d'],
  ])('makes no formula of %j where a spreadsheet separates by semicolons, here nor in the console', (value, safe) => {
    const quoted = `"${safe.replaceAll('"', '""')}"`
    expect([safe, quoted]).toContain(csv(['head'], [[value]]).slice('head\r\n'.length, -2))
    expect([safe, quoted]).toContain(csvOf(['head'], [[value]]).slice('\ufeffhead\r\n'.length, -2))
  })

  it.each([
    ['a;\t=1', "a;\t'=1"],
    ['a\n=1', `"a\n'=1"`],
    ['a\r\n @x', `"a\r\n '@x"`],
  ])('makes no formula of %j in the console, which leaves signs that are not shown', (value, cell) => {
    expect(csvOf(['head'], [[value]])).toBe(`\ufeffhead\r\n${cell}\r\n`)
  })

  it('leaves a null empty, and a number as it is', () => {
    expect(csv(['a', 'b'], [[null, -3]])).toBe('a,b\r\n,-3\r\n')
  })
})

describe('a difference', () => {
  it('names what is new, what is gone and what is another, also within inputs', () => {
    const from = { name: 'Old', street: 'Lane 1', inputs: { a: '1', b: '2' } }
    const to = { name: 'New', country_code: 'DK', inputs: { a: '1', b: null, c: '3' } }
    expect(contentDifference(from, to).map(differenceWords)).toEqual([
      "name: 'Old' → 'New'",
      "street: 'Lane 1' → none",
      "inputs.b: '2' → none",
      "country_code: none → 'DK'",
      "inputs.c: none → '3'",
    ])
  })

  it('a difference is none between contents that differ in the order of their keys only', () => {
    expect(contentDifference({ a: '1', b: '2' }, { b: '2', a: '1' })).toEqual([])
  })
})

describe('a row in words', () => {
  it.each([
    ['properties', { name: 'Zur Brücke', country_code: 'DE' }, 'Zur Brücke, DE'],
    [
      'framework_answers',
      { period_type: 'Yearly', year: '2025', month: '1', data_point_id: 'd', value: '3' },
      '2025 data point d = 3',
    ],
    [
      'framework_answers',
      { period_type: 'Yearly', year: '2025', month: '4', data_point_id: 'd' },
      'Yearly 2025-04 data point d',
    ],
    [
      'omissions',
      { period_type: 'Monthly', year: '2025', month: '4', question_id: 'q' },
      '2025-04 question q declined',
    ],
    ['calculator_inputs', { year: '2025', month: '11', inputs: { a: '1', b: '2' } }, '2025-11 2 inputs'],
    ['something_new', { level: 'Gold', score: '1.5' }, 'level Gold, score 1.5'],
  ])('rowWords describes a row of %s: %j', (stream, content, words) => {
    expect(rowWords(stream, content)).toBe(words)
  })
})
