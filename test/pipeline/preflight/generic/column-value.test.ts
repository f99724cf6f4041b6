import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { ColumnType } from '../../../../src/exchange/body-template.ts'
import { columnValue } from '../../../../src/pipeline/preflight/fill-template.ts'

const convert = (as: ColumnType, text: string | null, optional = false) =>
  columnValue({ is: 'column', column: 'score', as, optional }, text)

it.each<[ColumnType, string, unknown]>([
  ['text', '', ''],
  ['text', '1.50', '1.50'],
  ['text', '{"$column":"a"}', '{"$column":"a"}'],
  ['number', '1.50', 1.5],
  ['number', '-0.000001', -0.000001],
  ['number', '9007199254740991', 9007199254740991],
  ['boolean', 'true', true],
  ['boolean', 'false', false],
  ['json', 'null', null],
  ['json', ' [1, "2", {"a": 1.50}] ', [1, '2', { a: 1.5 }]],
  ['json', '"1e999 \\" : 12345678901234567890"', '1e999 " : 12345678901234567890'],
  ['json', '{"a":"b\\\\","c":1}', { a: 'b\\', c: 1 }],
])('a column read as %s turns %j into %j', (as, text, value) => {
  expect(convert(as, text)).toEqual({ value })
})

it.each<[ColumnType, string, string]>([
  ['number', '', "score '' is no number"],
  ['number', '1,5', "score '1,5' is no number"],
  ['number', 'NaN', "score 'NaN' is no number"],
  ['number', '0x10', "score '0x10' is no number"],
  ['number', '1e999', "score '1e999' is too large a number"],
  ['number', '12345678901234567890', 'has more digits than a JSON number keeps'],
  ['number', '0.1234567890123456789', 'has more digits than a JSON number keeps'],
  ['boolean', 't', "score 't' is no boolean"],
  ['boolean', 'TRUE', "score 'TRUE' is no boolean"],
  ['json', '', "score '' is no JSON"],
  ['json', '{a: 1}', "score '{a: 1}' is no JSON"],
  ['json', '[12345678901234567890]', 'score holds a number that JSON does not keep'],
  ['json', '{"a":[{"b":1e999}]}', 'score holds a number that JSON does not keep'],
  ['json', '{"a":1,"a":2}', 'score names a member of an object twice'],
  ['json', '[{"a":1},{"b":{"c":1,"c":1}}]', 'score names a member of an object twice'],
  ['json', `${'['.repeat(65)}${']'.repeat(65)}`, 'score is nested more than 64 levels deep'],
  ['json', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'score is nested more than 64 levels deep'],
])('a column read as %s refuses %j', (as, text, problem) => {
  const found = convert(as, text)
  expect('problem' in found ? found.problem : 'nothing').toContain(problem)
})

it('a null column gives nothing if it is optional, and a problem if not', () => {
  expect(convert('json', null, true)).toEqual({ value: undefined })
  expect(convert('json', null)).toEqual({ problem: 'score is empty' })
})

it('a column read as json keeps a name with escapes, whatever name stood in its place before', () => {
  for (const name of ['\\n', '\\"', '\\u6771', '\\/', '\\\\', '\\u005f_proto__']) {
    expect(Object.keys((convert('json', '{"unit":1,"\\\\":2}') as { value: object }).value)).toEqual(['unit', '\\'])
    const found = convert('json', `[{"unit":1,"${name}":{"{":"}:","d":[{}, {"":-0}]}}]`) as { value: object[] }
    const wanted = JSON.parse(`"${name}"`) as string
    expect(Object.keys(found.value[0] ?? {})).toEqual(['unit', wanted])
    expect(Object.values(found.value[0] ?? {})[1]).toEqual({ '{': '}:', d: [{}, { '': -0 }] })
  }
  expect(convert('json', '{"a":1,"\\u0061":2}')).toEqual({ problem: 'score names a member of an object twice' })
})

it('a column read as json keeps whatever JSON says, or refuses it', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (text) => {
      const found = convert('json', text)
      if ('problem' in found) return
      expect(found.value).toEqual(JSON.parse(text))
    }),
    { numRuns: 1_000 },
  )
})

it('a column read as json refuses no value of safe numbers and text', () => {
  const value = fc.jsonValue({ noUnicodeString: false, depthSize: 'medium' })
  fc.assert(
    fc.property(value, (any) => 'value' in convert('json', JSON.stringify(any))),
    { numRuns: 1_000 },
  )
})

it('a column read as number gives the number that was meant, or none', () => {
  fc.assert(
    fc.property(fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }).map(String), fc.string()), (text) => {
      const found = convert('number', text)
      if ('value' in found)
        expect(Number(text)).toBe(Number(String(found.value)) + 0 === 0 ? Number(text) : found.value)
    }),
    { numRuns: 1_000 },
  )
})
