import { describe, expect, it } from 'vitest'
import { pageCompany } from '../../../src/pipeline/pull/page-company.ts'
import { doubledKey } from '../../../src/pipeline/reading/element-assembler.ts'
import { PageFormatError } from '../../../src/pipeline/reading/page-limits.ts'
import { parseCompany, type SplitCompany, splitPage } from '../../../src/pipeline/reading/split-page.ts'
import { defaultPageLimits } from '../pull/limits.ts'
import { byReadPage, bySplitPage, spelt } from '../pull/read-two-ways.ts'
import { bodyOf, calculator, company, contract, uuid } from '../pull/sample-page.ts'

/** A company as it is cut from a page that holds it behind another. */
async function cut(text: string | Uint8Array): Promise<SplitCompany> {
  const page = Buffer.concat([Buffer.from('{"companies":[{},'), Buffer.from(text), Buffer.from(']}')])
  for await (const batch of splitPage(bodyOf(page, 1_000_000), { contract, limits: defaultPageLimits })) {
    for (const element of batch) if (element.kind === 'companyBytes' && element.ordinal === 1) return element
  }
  throw new Error('no company was cut out')
}

const parse = async (text: string | Uint8Array) => parseCompany(await cut(text), defaultPageLimits)

async function refusal(text: string | Uint8Array): Promise<PageFormatError> {
  const bytes = await cut(text)
  try {
    parseCompany(bytes, defaultPageLimits)
  } catch (error) {
    if (error instanceof PageFormatError) return error
    throw error
  }
  throw new Error('the company was accepted')
}

describe('parseCompany', () => {
  it('reads a company', async () => {
    const given = company('東京', { fields: { brand: ['B', '😀'] }, calculators: [calculator('k')] })
    expect(await parse(JSON.stringify(given, null, 2))).toEqual(given)
  })

  it.each([
    ['at the top', '{"id":"x","id":"y"}', [['id', doubledKey]]],
    ['given three times', '{"id":"x","id":"y","id":"z"}', [['id', doubledKey]]],
    ['once with escapes', '{"id":"x","\\u0069d":"y"}', [['id', doubledKey]]],
    ['named __proto__', '{"__proto__":1,"__proto__":2}', [['__proto__', doubledKey]]],
  ])('keeps neither of two values of one key %s', async (_name, text, entries) => {
    expect(Object.entries((await parse(text)) as object)).toEqual(entries)
  })

  it('keeps neither of two values of one key deep inside, also where an outer key hides one of them', async () => {
    expect(await parse('{"calculators":[{"inputs":{"a":"1","a":"2"}}]}')).toEqual({
      calculators: [{ inputs: { a: doubledKey } }],
    })
    expect(await parse('{"a":{"b":1,"b":2},"a":{"c":3}}')).toEqual({ a: doubledKey })
  })

  it('parseCompany is not misled by colons and brackets inside of texts', async () => {
    expect(await parse('{"a":":{}[]:\\":","b:":"\\\\"}')).toEqual({ a: ':{}[]:":', 'b:': '\\' })
  })

  // JSON.parse of V8 13.6 takes the third key for the second, because it met that one at this place before.
  it('keeps a key with an escape, whatever key stood in its place before', async () => {
    for (const key of ['\\n', '\\"', '\\ud83d', '\\u6771', '\\\\']) {
      await parse(`{"":null,"b":{},"\\\\":[]}`)
      expect(Object.keys((await parse(`{"":null,"b":{},"${key}":[]}`)) as object)).toEqual([
        ...['', 'b'],
        JSON.parse(`"${key}"`) as string,
      ])
    }
  })

  it.each([
    ['no JSON', '{"id":tru}', /in company 1, after byte 27: its text is not JSON/],
    ['mismatched brackets', '{]', /in company 1, after byte 17: its text is not JSON/],
    ['a comma too many', `{"a":"${'x'.repeat(2_000)}",}`, /in company 1, after byte 1809: its text is not JSON/],
    ['an end of line inside a text', '{"a":"\n"}', /not JSON/],
    ['a byte that is no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /after byte 17: .* not UTF-8/],
  ])('refuses %s with the place and without quoting the page', async (_name, text, message) => {
    const error = await refusal(text)
    expect(error.code).toBe('page_malformed')
    expect(error.message).toMatch(message)
  })
})

const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'toJSON', '__defineGetter__']

describe('names that every object inherits', () => {
  it.each(inherited)('%s is an id and an unknown key like any other', async (name) => {
    const literal = JSON.stringify(name)
    const calculatorText = JSON.stringify(calculator('k')).replace('"electricity"', literal).slice(0, -1)
    const text =
      `{"id":"${uuid('a')}","name":"A",${literal}:{"polluted":true},"fields":{${literal}:["v",${literal}]},` +
      `"calculators":[${calculatorText},${literal}:{"id":1}}]}`
    const { company: decoded, leftOut } = pageCompany(await parse(text), contract)
    expect(leftOut).toEqual([])
    expect(decoded?.properties.map(({ propertyId, value }) => [propertyId, value])).toEqual([
      [name, 'v'],
      [name, name],
    ])
    expect(decoded?.calculators[0]?.content?.values.map(({ variableId }) => variableId)).toEqual([name, 'total'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    const page = `{"companies":[${text}]}`
    const reference = await byReadPage(bodyOf(page))
    if (reference instanceof PageFormatError) throw reference
    expect(await bySplitPage(bodyOf(page))).toEqual({ elements: reference.elements, cut: 1, plain: 0 })
  })

  it.each(inherited)('%s as a field of the contract is missing where the page does not give it', async (name) => {
    const names = { ...contract.names.calculatorsPage, name, typeId: name }
    const renamed = { ...contract, names: { ...contract.names, calculatorsPage: names } }
    const { leftOut } = pageCompany(await parse(JSON.stringify(company('Aske'))), renamed)
    expect(leftOut.map(({ unit, item, reason }) => [unit, item, reason])).toEqual([
      ['value', name, 'missing'],
      ['calculator', name, 'missing'],
    ])
  })
})

it('parseCompany spells values so that -0, the order of keys and doubled keys count', () => {
  expect(spelt({ a: -0, b: 1 })).not.toEqual(spelt({ a: 0, b: 1 }))
  expect(spelt({ a: 0, b: 1 })).not.toEqual(spelt({ b: 1, a: 0 }))
  expect(spelt({ a: doubledKey })).not.toEqual(spelt({ a: 1 }))
})
