import { describe, expect, it } from 'vitest'
import { randomFrom } from '../../src/sandbox/chaos/change-document.ts'
import { withShuffledKeys } from '../../src/sandbox/chaos/change-pages.ts'
import { joinParts, type PagePart, splitPage } from '../../src/sandbox/chaos/page-pieces.ts'
import { some } from '../helpers/some.ts'

async function* pieces(text: string, size: number): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function partsOf(text: string, size: number): Promise<[string, string][]> {
  const parts: [string, string][] = []
  for await (const { kind, bytes } of splitPage(pieces(text, size), 'companies')) parts.push([kind, bytes.toString()])
  return parts
}

async function textOf(parts: AsyncIterable<PagePart>): Promise<string> {
  const all: Buffer[] = []
  for await (const bytes of joinParts(parts)) all.push(bytes)
  return Buffer.concat(all).toString()
}

const elements = ['{"name":"[\\"],{}\\\\"}', '{"id":1,"list":[[1],{"companies":[2]}]}', '"東京, ,"', '7']
const head = '{"note":"\\"companies\\":[","others":[{"companies":[1]}],"companies":['
const tail = '],"later":[1,2]}'
const page = `${head}${elements.join(',')}${tail}`

describe('splitPage', () => {
  it.each([1, 2, 3, 7, 1000])('finds the same elements when %d bytes arrive at a time', async (size) => {
    expect(await partsOf(page, size)).toEqual([
      ['head', head],
      ...elements.map((element) => ['element', element]),
      ['tail', tail],
    ])
    expect(await textOf(splitPage(pieces(page, size), 'companies'))).toBe(page)
  })

  it('finds no element in an empty list', async () => {
    expect(await partsOf('{"companies":[]}', 4)).toEqual([
      ['head', '{"companies":['],
      ['tail', ']}'],
    ])
  })

  it('holds one element at a time, however many there are', async () => {
    let given = 0
    async function* endless(): AsyncGenerator<Buffer> {
      yield Buffer.from('{"companies":[{"id":0}')
      for (;;) {
        given += 1
        yield Buffer.from(`,{"id":${given}}`)
      }
    }
    let taken = 0
    for await (const { kind } of splitPage(endless(), 'companies')) {
      if (kind === 'element') taken += 1
      expect(given - taken).toBeLessThanOrEqual(1)
      if (taken === 1000) break
    }
    expect(taken).toBe(1000)
  })
})

describe('withShuffledKeys', () => {
  it.each([0, 0.25, 0.5, 0.75])('moves members around the list and inside of elements, from %d', async (start) => {
    const good = '{"a":[],"b":{"x":1,"y":2},"companies":[{"p":1,"q":{"r":[1,2],"s":2}},{"p":2,"q":3}]}'
    const text = await textOf(withShuffledKeys(splitPage(pieces(good, 5), 'companies'), 'companies', randomFrom(start)))
    expect(JSON.parse(text)).toEqual(JSON.parse(good))
    const { companies } = JSON.parse(text) as { companies: object[] }
    expect(Object.keys(JSON.parse(text) as object)).not.toEqual(['a', 'b', 'companies'])
    for (const company of some(companies)) expect(Object.keys(company)).toEqual(['q', 'p'])
  })
})
