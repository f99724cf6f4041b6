import { around, instead, member } from './page-case.ts'

const byteOrderMark = '\uFEFF'
const deep = 1_000_000
const mebibyte = Buffer.alloc(1024 * 1024, 'x')

const bytesOf = (...bytes: number[]) => Buffer.concat([Buffer.from('"'), Buffer.from(bytes), Buffer.from('"')])
const nested = `${'['.repeat(deep)}${']'.repeat(deep)}`

/** Characters, numbers, names and sizes inside a document. */
export const textCases = {
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
