import { choiceOf } from '../profile.ts'
import { contentCases } from './content-cases.ts'
import { around, instead, member, type PageCase } from './page-case.ts'

const listOf = (list: string, value: string) => `{${JSON.stringify(list)}:${value}}`

/** The document as a whole: no JSON, another shape, or something around it. */
const structureCases = {
  empty: instead('The file has no bytes.', ''),
  'white-space-alone': instead('The file is white space.', ' \n '),
  'empty-object': instead('The file is an object without members.', '{}'),
  'array-at-the-top': instead('The file is an array.', '[]'),
  'text-at-the-top': instead('The file is a string.', ({ list }) => JSON.stringify(list)),
  'null-at-the-top': instead('The file is null.', 'null'),
  html: instead('The file is a page of HTML.', '<html><body>Bad gateway</body></html>'),
  'companies-missing': instead('The list is missing.', ({ names }) => listOf(names.customProperties, '[]')),
  'companies-null': instead('The list is null.', ({ list }) => listOf(list, 'null')),
  'companies-object': instead('The list is an object.', ({ list }) => listOf(list, '{}')),
  'companies-text': instead('The list is a string.', ({ list }) => listOf(list, '"[]"')),
  'companies-in-other-letters': instead('The name of the list begins with a capital letter.', ({ list }) =>
    listOf(`${list.slice(0, 1).toUpperCase()}${list.slice(1)}`, '[]'),
  ),
  'companies-twice': around('The list is there twice.', ({ tail }, { list }) => ({
    tail: `],${JSON.stringify(list)}:[${tail}`,
  })),
  'companies-nested-deeper': around('The list stands one level deeper.', ({ head, tail }) => ({
    head: `{"page":${head}`,
    tail: `${tail}}`,
  })),
  'variables-null': around('The list of variables is null.', (_frame, { list, names }) => ({
    head: `{${JSON.stringify(names.calculatorVariables)}:null,${JSON.stringify(list)}:[`,
  })),
  'variables-twice': around('The list of variables is there twice.', (_frame, { list, names }) => {
    const variables = `${JSON.stringify(names.calculatorVariables)}:[],`
    return { head: `{${variables}${variables}${JSON.stringify(list)}:[` }
  }),
  'properties-object': around('The list of custom properties is an object.', (_frame, { list, names }) => ({
    head: `{${JSON.stringify(names.customProperties)}:{},${JSON.stringify(list)}:[`,
  })),
  'trailing-garbage': around('Something stands behind the end.', ({ tail }) => ({ tail: `${tail} x` })),
  'bracket-too-many': around('There is a bracket too many at the end.', ({ tail }) => ({ tail: `${tail}}` })),
  'two-documents': around('A second document follows.', ({ tail }, { list }) => ({
    tail: `${tail}\n${listOf(list, '[]')}`,
  })),
  'nul-behind-the-end': around('A NUL stands behind the end.', ({ tail }) => ({ tail: `${tail}\0` })),
  'comment-in-the-text': around('A comment stands in the text.', ({ tail }) => ({ tail: `/* none */${tail}` })),
  'comma-too-many': around('The list ends with a comma.', ({ tail }) => ({ tail: `,${tail}` })),
}

const byteOrderMark = '\uFEFF'
const deep = 1_000_000
const mebibyte = Buffer.alloc(1024 * 1024, 'x')

const bytesOf = (...bytes: number[]) => Buffer.concat([Buffer.from('"'), Buffer.from(bytes), Buffer.from('"')])
const nested = `${'['.repeat(deep)}${']'.repeat(deep)}`

/** Characters, numbers, names and sizes inside a document. */
const textCases = {
  'byte-order-mark': around('The file begins with a byte-order mark.', ({ head }) => ({
    head: `${byteOrderMark}${head}`,
  })),
  'two-byte-order-marks': around('The file begins with two byte-order marks.', ({ head }) => ({
    head: `${byteOrderMark}${byteOrderMark}${head}`,
  })),
  'utf-16': instead('The file is in UTF-16.', ({ list }) => Buffer.from(`{"${list}":[]}`, 'utf16le')),
  'invalid-utf-8': member('A byte is no UTF-8.', () => ['"note":', bytesOf(0xff)]),
  'overlong-encoding': member('A character is written with more bytes than it needs.', () => [
    '"note":',
    bytesOf(0xc0, 0xaf),
  ]),
  'encoded-surrogate': member('Half of a surrogate pair is encoded as if it were a character.', () => [
    '"note":',
    bytesOf(0xed, 0xa0, 0x80),
  ]),
  'single-quotes': member('A member is in single quotes.', "'note':'x'"),
  'line-end-in-a-string': member('A string holds a line end that is not escaped.', '"note":"a\nb"'),
  'unknown-escape': member('A string holds an escape that JSON does not have.', '"note":"\\x41"'),
  'not-a-number': member('A number is NaN.', '"note":NaN'),
  'leading-zero': member('A number begins with a zero.', '"note":02025'),
  'duplicate-keys': member('A member is there twice, with two values.', ({ names }) => [
    `${JSON.stringify(names.id)}:"00000000-0000-8000-8000-000000000000"`,
  ]),
  'proto-key': member('A member is called __proto__.', '"__proto__":{"polluted":true}'),
  'million-levels': member('An element is nested a million levels deep.', `"note":${nested}`),
  'million-levels-elsewhere': around('A member that nobody knows is nested a million levels deep.', ({ head }) => ({
    head: `{"introducedLater":${nested},${head.slice(1)}`,
  })),
  'long-string': member('A string is 200 MiB long.', function* longString() {
    yield '"note":"'
    for (let written = 0; written < 200; written += 1) yield mebibyte
    yield '"'
  }),
}

const cases = { ...structureCases, ...textCases, ...contentCases }

export type PageCaseName = keyof typeof cases

export const pageCases: Readonly<Record<PageCaseName, PageCase>> = cases

/** Any case, or one of them by its name. */
export const malformedPages = choiceOf(
  ['malformed-pages', 0.1, 'A result file is wrong in one of the ways that are listed below.'],
  Object.fromEntries(Object.entries(cases).map(([name, { what }]) => [name, what])) as Record<PageCaseName, string>,
  'malformed-page',
)
