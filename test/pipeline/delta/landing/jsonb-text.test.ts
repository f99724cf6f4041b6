import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonbValue, jsonbText } from '../../../../src/pipeline/delta/staged-lines.ts'
import { openLedger } from '../../../db/ledger/ledger.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())

/** Texts that a database can hold: no NUL, and no half of a surrogate pair. */
const texts = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.constantFrom('', '"', '\\', '\b\f\n\r\t\v\u007f\u001f', '\u2028', '𝕏', 'ä', '\ufeff', '/', '<', 'a\\u0041'),
  )
  .map((text) => text.replaceAll('\0', ''))
const members = fc.dictionary(texts, fc.oneof(texts, fc.constant(null)), { maxKeys: 8 })
const contents = fc.dictionary(texts, fc.oneof(texts, fc.constant(null), members), { maxKeys: 8 })

async function asTheServerWrites(values: readonly unknown[]): Promise<string[]> {
  const { rows } = await ledger.pool.query<{ text: string }>(
    'select value::jsonb::text as text from unnest($1::text[]) with ordinality as given (value, place) order by place',
    [values.map((value) => JSON.stringify(value))],
  )
  return rows.map(({ text }) => text)
}

test('content has the text that the server gives it, whatever its members are called and say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(contents, { minLength: 20, maxLength: 60 }), async (values) => {
      expect(values.map((value) => jsonbText(value as JsonbValue))).toEqual(await asTheServerWrites(values))
    }),
    { numRuns: 60 },
  )
})

test('names of one length, of more bytes than characters, and of none are in the order of the server', async () => {
  const value = { b: '1', a: '2', ä: '3', aa: '4', '': '5', z: '6', ß: '7', é: '8', B: '9', 𝕏: null, abcd: {} }
  expect(jsonbText(value)).toBe((await asTheServerWrites([value]))[0])
})
