import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BatchMemory } from '../../../../src/pipeline/pull/fast/batch-memory.ts'
import { maxNames, NameIndex } from '../../../../src/pipeline/pull/fast/name-index.ts'
import {
  calculatorWidth,
  type PlainCompany,
  PlainCompanyReader,
  propertyWidth,
  valueWidth,
} from '../../../../src/pipeline/pull/fast/plain-company.ts'
import { type PageCompany, pageCompany } from '../../../../src/pipeline/pull/page-company.ts'
import { some } from '../../../helpers/some.ts'
import { contract, uuid } from '../sample-page.ts'

/** Ids of names by number, and the keys that a database would give them. */
function names() {
  const ids: string[] = []
  const index = new NameIndex({
    keyOf: (id) => ids.indexOf(id) + 1,
    resolve: async (asked) => {
      for (const id of asked) if (!ids.includes(id)) ids.push(id)
    },
  })
  return { index, idOf: (key: number) => ids[key - 1] ?? '' }
}

/** What the reader makes of a text, in the shape of `pageCompany`. */
async function read(texts: readonly (string | Uint8Array)[]): Promise<(PageCompany | undefined)[]> {
  const [variables, properties] = [names(), names()]
  const reader = new PlainCompanyReader(contract, { variables: variables.index, properties: properties.index })
  const memory = new BatchMemory()
  const companies = texts.map((text) => {
    // What stands around it on the page says nothing of it.
    const chunk = Buffer.concat([Buffer.from('"},{["é'), Buffer.from(text), Buffer.from(',{"id":"')])
    const company = reader.read(chunk, 8, memory)
    chunk.fill('?')
    return company?.bytes.length === Buffer.byteLength(text) ? company : undefined
  })
  await variables.index.resolve()
  await properties.index.resolve()
  return companies.map((company) => {
    if (company === undefined) return undefined
    return decoded(company, {
      variable: (number) => variables.idOf(variables.index.keyOf(number)),
      property: (number) => properties.idOf(properties.index.keyOf(number)),
    })
  })
}

type Ids = { variable: (number: number) => string; property: (number: number) => string }

function decoded(company: PlainCompany, ids: Ids): PageCompany {
  const bytes = Buffer.from(company.bytes)
  const tape = company.memory.tape.numbers
  const number = (at: number) => tape[at] ?? -1
  const text = (at: number) => bytes.toString('utf8', number(at), number(at + 1))
  const uuidAt = (at: number) => bytes.toString('utf8', number(at), number(at) + 36).toLowerCase()
  let at = company.tapeFrom
  const properties = Array.from({ length: company.properties }, () => {
    const property = { propertyId: ids.property(number(at)), ordinal: number(at + 1), value: text(at + 2) }
    at += propertyWidth
    return property
  })
  const calculators = Array.from({ length: company.calculators }, () => {
    const head = at
    at += calculatorWidth
    const values = Array.from({ length: number(head + 6) }, () => {
      const direction = (number(at) & 1) === 0 ? ('i' as const) : ('o' as const)
      const value = { direction, variableId: ids.variable(number(at) >> 1), value: text(at + 1) }
      at += valueWidth
      return value
    })
    const month = number(head + 5) === 0 ? null : number(head + 5)
    const title = { title: text(head + 2), titleProblem: null }
    const period = { year: number(head + 4), month, monthNull: null }
    const content = { typeId: uuidAt(head + 1), ...title, ...period, values, unrenewed: [] }
    return { calculatorId: uuidAt(head), content }
  })
  const name = bytes.toString('utf8', company.nameFrom, company.nameTo)
  const read = {
    name,
    nameProblem: null,
    readable: true,
    complete: true,
    properties,
    unrenewedProperties: [],
    calculators,
  }
  return { companyId: company.companyId, ...read }
}

/** What every text must be read as, where it is read at all. */
function expected(text: string): PageCompany | undefined {
  const { company, leftOut } = pageCompany(JSON.parse(text), contract)
  return leftOut.length === 0 ? company : undefined
}

/** Objects of JavaScript have number-like keys first; rows know no order. */
function inOrder(company: PageCompany | undefined): unknown {
  const key = (row: object) => JSON.stringify(row)
  return (
    company && {
      ...company,
      properties: company.properties.toSorted((a, b) => key(a).localeCompare(key(b))),
      calculators: company.calculators.map(({ calculatorId, content }) => ({
        calculatorId,
        content: content && { ...content, values: content.values.toSorted((a, b) => key(a).localeCompare(key(b))) },
      })),
    }
  )
}

const space = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n')
const plainText = fc.string({
  unit: fc.constantFrom('a', 'b', ' ', '1', '.', ':', ',', '{', '}', '[', ']', 'é', '😀', '\u007f'),
})
const filledText = plainText.map((text) => (text.trim() === '' ? `${text}x` : text))
const wildText = fc.oneof({ weight: 40, arbitrary: filledText }, plainText, fc.string({ unit: 'binary' }))
const id = fc.constantFrom('v0', 'v1', 'v2', '7', '__proto__', 'ünit')

/** An object of given members with whitespace anywhere, as text. */
function object(members: fc.Arbitrary<string[]>): fc.Arbitrary<string> {
  return fc
    .tuple(members, fc.array(space, { minLength: 4, maxLength: 4 }))
    .map(
      ([list, [a = '', b = '', c = '', d = '']]) =>
        `{${a}${list.map((member) => member.replace(/^("(?:[^"\\]|\\.)*"):/, `$1${b}:${c}`)).join(`${d},${a}`)}${b}}`,
    )
}

const member = (key: string, value: fc.Arbitrary<string>) => value.map((text) => `${JSON.stringify(key)}:${text}`)
const json = (value: fc.Arbitrary<unknown>) => value.map((one) => JSON.stringify(one) ?? 'null')
const anything = json(fc.jsonValue({ maxDepth: 2 }))
const mostly = (usual: fc.Arbitrary<string>) => fc.oneof({ weight: 40, arbitrary: usual }, anything)
/** All members, mostly in the order of the specification; now and then one is missing. */
const members = (...all: fc.Arbitrary<string>[]) =>
  fc
    .tuple(...all)
    .chain((list) =>
      fc.oneof(
        { weight: 12, arbitrary: fc.constant(list) },
        { weight: 3, arbitrary: fc.shuffledSubarray(list, { minLength: list.length }) },
        fc.subarray(list, { minLength: list.length - 1 }),
      ),
    )

const group = object(
  fc
    .uniqueArray(fc.tuple(id, json(wildText)), { maxLength: 5, selector: ([key]) => key })
    .map((list) => list.map(([key, value]) => `${JSON.stringify(key)}:${value}`)),
)
const period = object(
  members(
    member('year', mostly(json(fc.constantFrom(2025, 1, 9_999, 2024, 2023, 999, 2022, 0, 20_255, 1.5)))),
    member('month', mostly(json(fc.constantFrom('March', 'june', 'May', 'July', 'Mar', null)))),
  ),
)
const uuids = fc.oneof(
  { weight: 40, arbitrary: json(fc.constantFrom(uuid('a'), uuid('b').toUpperCase())) },
  json(fc.constantFrom(`${uuid('c')}0`, uuid('d').replace('-', '0'))),
)
const calculator = object(
  members(
    member('id', mostly(uuids)),
    member('typeId', mostly(uuids)),
    member('title', mostly(json(wildText))),
    member('period', mostly(period)),
    member('inputs', mostly(group)),
    member('outputs', mostly(group)),
  ),
)
const list = (items: fc.Arbitrary<string>) =>
  fc.tuple(fc.array(items, { maxLength: 3 }), space, space).map(([all, a, b]) => `[${a}${all.join(`${b},${a}`)}${b}]`)
const fields = object(
  fc
    .uniqueArray(fc.tuple(id, list(json(wildText))), { maxLength: 3, selector: ([key]) => key })
    .map((all) => all.map(([key, value]) => `${JSON.stringify(key)}:${value}`)),
)
const company = object(
  members(
    member('id', mostly(uuids)),
    member('name', mostly(json(wildText))),
    member('fields', mostly(fields)),
    member('calculators', mostly(list(mostly(calculator)))),
  ),
)

describe('a company that is read from its bytes', () => {
  it('a company that is read from its bytes is what parsing makes of it, or is left to parsing', async () => {
    let answered = 0
    let asked = 0
    await fc.assert(
      fc.asyncProperty(fc.array(company, { minLength: 1, maxLength: 4 }), async (texts) => {
        for (const [index, found] of some((await read(texts)).entries())) {
          asked++
          if (found === undefined) continue
          answered++
          expect(inOrder(found)).toEqual(inOrder(expected(texts[index] ?? '')))
        }
      }),
      { numRuns: 1_500 },
    )
    // A reader that left all to parsing would pass.
    expect(answered).toBeGreaterThan(asked / 5)
  })

  it('a company that is read from its bytes is answered only where its bytes are JSON', async () => {
    const changes = fc.array(
      fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), cut: fc.nat({ max: 3 }) }),
      {
        minLength: 1,
        maxLength: 2,
      },
    )
    let answered = 0
    await fc.assert(
      fc.asyncProperty(fc.tuple(company, changes), async ([text, edits]) => {
        let bytes = Buffer.from(text)
        for (const { at, byte, cut } of edits) {
          const place = at % bytes.length
          bytes = Buffer.concat([bytes.subarray(0, place), Buffer.of(byte), bytes.subarray(place + cut)])
        }
        const [found] = await read([bytes])
        if (found === undefined) return
        answered++
        expect(Buffer.from(bytes.toString('utf8')).equals(bytes)).toBe(true)
        expect(inOrder(found)).toEqual(inOrder(expected(bytes.toString('utf8'))))
      }),
      { numRuns: 4_000 },
    )
    expect(answered).toBeGreaterThan(5)
  })

  it.each([
    ['an escape in its name', '{"id":"$","name":"a\\"b","calculators":[]}'],
    ['an escaped key', '{"\\u0069d":"$","name":"a","calculators":[]}'],
    ['a key twice', '{"id":"$","name":"a","name":"a","calculators":[]}'],
    ['a property twice', '{"id":"$","name":"a","fields":{"p":["1"],"p":["1"]},"calculators":[]}'],
    ['a field that the specification does not name', '{"id":"$","name":"a","stars":5,"calculators":[]}'],
    ['no name', '{"id":"$","calculators":[]}'],
    ['a control character', '{"id":"$","name":"a\u0001","calculators":[]}'],
    ['a comma too many', '{"id":"$","name":"a","calculators":[],}'],
    ['something behind it', '{"id":"$","name":"a","calculators":[]} '],
    ['an id longer than an index takes', `{"id":"$","name":"a","fields":{"${'p'.repeat(201)}":[]},"calculators":[]}`],
    ['an empty id', '{"id":"$","name":"a","fields":{"":[]},"calculators":[]}'],
  ])('a company that is read from its bytes is left to parsing with %s', async (_title, text) => {
    const plain = `{"id":"${uuid('a')}","name":"a","calculators":[]}`
    expect((await read([plain]))[0]).toMatchObject({ companyId: uuid('a') })
    expect(await read([text.replace('$', uuid('a'))])).toEqual([undefined])
  })

  it('a company that is read from its bytes is not taken for JSON because an id with a quote in it was met before', async () => {
    const [variables, properties] = [names(), names()]
    const reader = new PlainCompanyReader(contract, { variables: variables.index, properties: properties.index })
    // As a company that was parsed leaves it.
    expect(properties.index.numberOf('a"b')).toBe(0)
    const text = `{"id":"${uuid('a')}","name":"a","fields":{"a"b":["1"]},"calculators":[]}`
    expect(reader.read(Buffer.from(text), 0, new BatchMemory())).toBeUndefined()
  })

  it('a company that is read from its bytes is left to parsing where there is no room for its names', () => {
    const [variables, properties] = [names(), names()]
    const reader = new PlainCompanyReader(contract, { variables: variables.index, properties: properties.index })
    const withProperty = (property: string) =>
      Buffer.from(`{"id":"${uuid('a')}","name":"a","fields":{"${property}":["1"]},"calculators":[]}`)
    for (let number = 0; number < maxNames; number++) properties.index.numberOf(`p${number}`)
    expect(reader.read(withProperty('p7'), 0, new BatchMemory())?.properties).toBe(1)
    expect(reader.read(withProperty('another'), 0, new BatchMemory())).toBeUndefined()
  })
})
