import { describe, expect, it } from 'vitest'
import { PageFormatError, type PageLimits } from '../../../src/pipeline/reading/page-limits.ts'
import type { PageElement } from '../../../src/pipeline/reading/read-page.ts'
import { type SplitCompany, splitPage } from '../../../src/pipeline/reading/split-page.ts'
import { some } from '../../helpers/some.ts'
import { defaultPageLimits } from '../pull/limits.ts'
import { bodyOf, company, contract, samplePage } from '../pull/sample-page.ts'

type Element = SplitCompany | PageElement

async function split(page: unknown, limits: Partial<PageLimits> = {}, pieceBytes = 1_000_000): Promise<Element[]> {
  const elements: Element[] = []
  const options = { contract, limits: { ...defaultPageLimits, ...limits } }
  for await (const batch of splitPage(bodyOf(page, pieceBytes), options)) elements.push(...batch)
  return elements
}

async function refusal(page: unknown, limits: Partial<PageLimits> = {}, pieceBytes?: number): Promise<string> {
  try {
    await split(page, limits, pieceBytes)
  } catch (error) {
    if (error instanceof PageFormatError) return error.message
    throw error
  }
  throw new Error('the page was accepted')
}

/** What was cut out as text, and everything else by its kind. */
const shown = (elements: Element[]) =>
  elements.map((element) =>
    element.kind === 'companyBytes' ? Buffer.from(element.bytes).toString() : `${element.kind} ${element.ordinal}`,
  )

const rich = samplePage([company('Søholm', { fields: { brand: ['B', 'C'] } }), company('東京')])

describe('splitPage', () => {
  it('cuts out the bytes of each company as they stand, with their place', async () => {
    const page = '\ufeff{ "later" : {"companies":[{"id":0}]} , "companies" \n:\t[ {"a": "}\\"{"} ,\r\n{ } ] }'
    const elements = await split(page)
    expect(shown(elements)).toEqual(['{"a": "}\\"{"}', '{ }'])
    const bytes = Buffer.from(page)
    for (const element of some(elements)) {
      if (element.kind !== 'companyBytes') throw new Error('no company')
      expect(bytes.subarray(element.offset, element.offset + element.bytes.length)).toEqual(Buffer.from(element.bytes))
    }
    expect(elements).toMatchObject([
      { ordinal: 0, keys: 1, escapedKeys: false },
      { ordinal: 1, keys: 0, escapedKeys: false },
    ])
  })

  it.each([1, 2, 3, 7, 64, 1_000])('cuts out the same when the body arrives in pieces of %d bytes', async (size) => {
    const page = JSON.stringify(rich).replaceAll('Carbon', '\\"\\\\\\u0043arbon\\\\')
    const atOnce = await split(page)
    expect(atOnce.length).toBe(2 + 1 + 2)
    const inPieces = await split(page, {}, size)
    const asOne = (element: Element) => ('gathered' in element ? { ...element, gathered: false } : element)
    expect(inPieces.map(asOne)).toEqual(atOnce)
  })

  it('gives a company of one piece as a view of it, and copies only what lies across pieces', async () => {
    const bytes = Buffer.from('{"companies":[{"id":1},{"id":2},{"id":3}]}')
    const cut = bytes.indexOf('2')
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      yield bytes.subarray(0, cut)
      yield bytes.subarray(cut)
    }
    const shares: boolean[] = []
    for await (const batch of splitPage(body(), { contract, limits: defaultPageLimits })) {
      for (const element of batch) {
        if (element.kind !== 'companyBytes') throw new Error('no company')
        const { buffer, byteOffset } = element.bytes
        shares.push(buffer === bytes.buffer && byteOffset === bytes.byteOffset + element.offset)
      }
    }
    expect(shares).toEqual([true, false, true])
  })

  it('counts the keys of all objects of a company, and sees keys with escapes', async () => {
    const page = '{"companies":[{"a":{"b":1,"c":[{"d":":"}]}},{"a\\n":1},{"a":"\\n","b":1},{"\\\\":":"}]}'
    for (const size of [1, 5, 1_000]) {
      expect(await split(page, {}, size)).toMatchObject([
        { keys: 4, escapedKeys: false },
        { keys: 1, escapedKeys: true },
        { keys: 2, escapedKeys: false },
        { keys: 1, escapedKeys: true },
      ])
    }
  })

  it('keeps a null of the page apart from the companies that it cut out, in the order of the page', async () => {
    const page = '{"companies":[null,{"a":1},null,[{"b":1}],{"c":1},7,"{}",{}],"calculatorVariables":[null]}'
    for (const size of [1, 10, 1_000]) {
      expect(shown(await split(page, {}, size))).toEqual([
        'company 0',
        '{"a":1}',
        'company 2',
        'company 3',
        '{"c":1}',
        'company 5',
        'company 6',
        '{}',
        'calculatorVariable 0',
      ])
    }
  })

  it('leaves a list under a key with escapes, and lists of other places, to the reader', async () => {
    expect(shown(await split('{"\\u0063ompanies":[{"a":1}]}'))).toEqual(['company 0'])
    const page = '{"x":"companies","y":[{"companies":[{"a":1}]}],"xcompanies":[{}],"companies ":[{}],"companies":[]}'
    expect(await split(page)).toEqual([])
  })

  it('keeps the bytes of a company apart from those of the next, also across pieces', async () => {
    const texts = Array.from({ length: 50 }, (_, index) => JSON.stringify({ id: index, name: 'x'.repeat(7 * index) }))
    expect(shown(await split(`{"companies":[${texts.join(',')}]}`, {}, 5))).toEqual(texts)
  })

  it('hands over few at a time, however many a chunk holds', async () => {
    const empty = 200_000
    const page = bodyOf(`{"companies":[${'{},'.repeat(empty)}1${',null'.repeat(empty)}]}`, 1024 * 1024)
    let found = 0
    for await (const batch of splitPage(page, { contract, limits: defaultPageLimits })) {
      // Beside the thousand there are the elements of one piece that the reader was given.
      expect(batch.length).toBeLessThan(20_000)
      found += batch.length
    }
    expect(found).toBe(2 * empty + 1)
  })

  it('gives a company before the page has ended', async () => {
    async function* unfinished(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[{"id":1}')
      throw new Error('asked for more than was needed')
    }
    const batches = splitPage(unfinished(), { contract, limits: defaultPageLimits })
    expect(await batches.next()).toMatchObject({ value: [{ kind: 'companyBytes', ordinal: 0, offset: 14 }] })
  })

  it('closes the body when its reader stops early', async () => {
    let closed = false
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield Buffer.from('{"companies":[')
        for (;;) yield Buffer.from('{"id":1},')
      } finally {
        closed = true
      }
    }
    for await (const [element] of splitPage(endless(), { contract, limits: defaultPageLimits })) {
      if (element?.ordinal === 3) break
    }
    expect(closed).toBe(true)
  })

  it('passes on what the body itself throws', async () => {
    const broken = new Error('socket hang up')
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[{"id":')
      throw broken
    }
    const reading = (async () => {
      for await (const _ of splitPage(body(), { contract, limits: defaultPageLimits })) void _
    })()
    await expect(reading).rejects.toBe(broken)
  })
})

describe('splitPage refuses', () => {
  it.each([
    [
      'two companies with nothing between them',
      '{"companies":[{"a":1}{"b":2}]}',
      /at companies\[1\], after byte 21: its text is not JSON/,
    ],
    ['a company beside a word', '{"companies":[nul{}]}', /at companies\[0\], after byte \d+: its text is not JSON/],
    ['a number that runs into a company', '{"companies":[1{}]}', /not JSON/],
    ['a comma behind the last company', '{"companies":[{},]}', /not JSON/],
    ['a second list of companies', '{"companies":[{}],"companies":[{}]}', /has the list "companies" twice/],
    ['a second list under an escaped key', '{"companies":[{}],"\\u0063ompanies":[{}]}', /"companies" twice/],
    ['a list in an array', '["companies":[{}]]', /not JSON|no object/],
    ['a second document', '{"companies":[{}]}{"companies":[{}]}', /not JSON/],
    [
      'half a character before a company',
      Buffer.from([...Buffer.from('{"companies":['), 0xc3, 0x7b, 0x7d]),
      /not UTF-8/,
    ],
    ['a page cut off inside a company', '{"companies":[{},{"id":"a', /at companies\[1\], after byte 25/],
    ['a page cut off behind a company', '{"companies":[{}', /not JSON|ends before/],
  ])('%s', async (_name, page, message) => {
    expect(await refusal(page)).toMatch(message)
    expect(await refusal(page, {}, 1)).toMatch(/after byte \d+: /)
  })

  it('a company that is nested too deep, at the level at which the reader does', async () => {
    const page = (levels: number) => `{"companies":[{},${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}]}`
    expect((await split(page(8), { maxDepth: 10 })).length).toBe(2)
    const reason = /^the page is malformed at companies\[1\], after byte 58: it is nested deeper than 10 levels$/
    expect(await refusal(page(9), { maxDepth: 10 })).toMatch(reason)
    expect(await refusal(`{"companies":[${'{"a":['.repeat(1_000_000)}`)).toMatch(/nested deeper than 64/)
  })

  it('a company whose bytes and marks outgrow the limit, by one', async () => {
    // 21 bytes and seven marks.
    const text = '{"a":[1,2],"b":"[,:]"}'
    const size = text.length + 8 * 8
    expect((await split(`{"companies":[${text}]}`, { maxElementSize: size })).length).toBe(1)
    for (const pieceBytes of [1, 1_000]) {
      const message = await refusal(`{"companies":[${text}]}`, { maxElementSize: size - 1 }, pieceBytes)
      expect(message).toMatch(/at companies\[0\], after byte \d+: the element is larger than the limit of 85$/)
    }
  })

  it('a company that never ends, before more of it has arrived than the limit', async () => {
    let given = 0
    async function* long(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[{"name":"')
      for (; given < 200; given++) yield Buffer.alloc(1024 * 1024, 'x')
    }
    const reading = (async () => {
      for await (const _ of splitPage(long(), { contract, limits: defaultPageLimits })) void _
    })()
    await expect(reading).rejects.toThrow(/larger than the limit/)
    expect(given).toBeLessThan(20)
  })
})
