import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  DocumentAssembler,
  type DocumentText,
  numberDigits,
} from '../../../../src/pipeline/pull/documents/document-assembler.ts'
import { readLists } from '../../../../src/pipeline/reading/read-page.ts'
import { defaultPageLimits } from '../limits.ts'

/** The elements of every list of a page that comes in chunks of so many bytes. */
async function elementsOf(text: string, chunk = 7): Promise<(DocumentText & { list: string })[]> {
  const bytes = Buffer.from(text)
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < bytes.length; start += chunk) yield bytes.subarray(start, start + chunk)
  }
  const element = new DocumentAssembler(defaultPageLimits, new Set(['id', 'other']))
  const options = { lists: (name: string) => name, required: null, limits: defaultPageLimits, element }
  const found = []
  for await (const { kind, value } of readLists(body(), options)) found.push({ list: kind, ...(value as DocumentText) })
  return found
}

describe('an element as JSON text', () => {
  it('says what it said on the page, whatever it is and however it is chunked', async () => {
    const spaced = fc.constantFrom(undefined, 1, '\t')
    const value = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' })
    await fc.assert(
      fc.asyncProperty(fc.array(value), spaced, fc.integer({ min: 1, max: 40 }), async (values, space, chunk) => {
        const elements = await elementsOf(JSON.stringify({ before: { x: [1] }, list: values }, null, space), chunk)
        expect(elements.map(({ text }) => JSON.parse(text) as unknown)).toEqual(
          JSON.parse(JSON.stringify(values)) as unknown,
        )
        for (const { text, list } of elements) {
          expect(list).toBe('list')
          expect(text).toBe(JSON.stringify(JSON.parse(text)))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('keeps numbers digit for digit', async () => {
    const numbers = ['0', '-0', '1.0', '1e400', '1E+2', '-1.50e-7', '123456789012345678901234567890', '0.1000']
    const [element] = await elementsOf(`{"l":[[${numbers.join(' , ')}]]}`)
    expect(element?.text).toBe(`[${numbers.join(',')}]`)
  })

  it('gives its own members that may be an id, as texts, and no other', async () => {
    const [first, second] = await elementsOf(
      '{"l":[{"id":"a","name":"x","in":{"id":"b"},"other":1.50},{"id":["c"],"other":null}]}',
    )
    expect(Object.fromEntries(first?.members ?? [])).toEqual({ id: 'a', other: '1.50' })
    expect(Object.fromEntries(second?.members ?? [])).toEqual({})
  })

  it('knows no id where the key of one comes twice, wherever else trouble is', async () => {
    const [inner, outer] = await elementsOf('{"l":[{"x":{"y":1,"y":2},"id":"a"},{"n":"\\u0000","id":"a","id":"b"}]}')
    expect(inner).toMatchObject({ problem: 'key_twice', members: new Map([['id', 'a']]) })
    expect(outer).toMatchObject({ problem: 'nul_character', members: new Map() })
  })

  it('leaves nothing of one element in the next', async () => {
    const [bad, good] = await elementsOf('{"l":[{"id":"a","id":"a"},{"name":"x"}]}')
    expect(bad?.problem).toBe('key_twice')
    expect(good).toEqual({ list: 'l', text: '{"name":"x"}', members: new Map(), problem: null })
  })
})

it.each<[string, number]>([
  ['0', 1],
  ['-12.50', 4],
  ['1e3', 4],
  ['1.5e3', 4],
  ['1.5e-3', 5],
  ['1e400', 401],
  ['1e-400', 401],
  ['1e99999999999999999999', Infinity],
])('%s has %d digits once it is written out', (text, digits) => {
  expect(numberDigits(text)).toBe(digits)
})
