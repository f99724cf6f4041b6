import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { RequestRefused } from '../../src/sandbox/request-refused.ts'
import {
  type BodyKind,
  bulkBodies,
  type ReadRequest,
  readBulkRequest,
  readStoredRequest,
} from '../../src/sandbox/requests/read-bulk-request.ts'
import { processorMs } from '../helpers/processor-ms.ts'
import { contract } from './open-sandbox.ts'

const [one, two] = ['5C1F2A3B-0000-4000-8000-00000000000A', '6d2e3b4c-0000-4000-8000-00000000000b'] as const

type Body = Record<string, unknown>

/** A body of each kind with every member that it can have. */
const full: Record<BodyKind, Body> = {
  companyMappings: {
    customIdentifierId: one,
    companies: [
      {
        ...{ id: 'H-1', name: 'A', street: 'B', countryCode: 'DK', airportCode: 'CPH', hotelCode: 'c', bookingId: 'd' },
        coordinates: { latitude: 1, longitude: 2 },
      },
    ],
  },
  frameworkAnswersUpsert: {
    frameworkId: one,
    companies: [
      {
        identifiedBy: { customProperty: { customPropertyId: two, value: 'H-1' } },
        periods: [
          {
            ...{ periodType: 'Yearly', year: 2025, month: 'May' },
            answers: [{ dataPointId: one, answer: { number: 1 }, unitId: two }],
            omissions: [{ questionId: one }],
          },
        ],
      },
    ],
  },
  calculatorsUpsert: {
    ...{ groupId: one, customIdentifierId: two },
    companies: [
      {
        ...{ identifier: 'H-1', automaticYearlyCalculation: true, automaticPublishing: false },
        calculators: [{ period: { year: 2025, month: 'May' }, inputs: [{ fieldTypeId: one, value: '1' }] }],
      },
    ],
  },
  companiesUpsert: {
    customIdentifierId: one,
    companies: [{ identifier: 'H-1', customProperties: [{ propertyId: two, value: 'v' }] }],
  },
  standardHoldersUpsert: {
    customIdentifierId: one,
    holders: [{ identifier: 'H-1', standardId: two, level: 'Gold', startDate: '2025-01-01', expiryDate: '2026-01-01' }],
  },
  consolidatedUpsert: {
    customIdentifierId: one,
    companies: [{ identifier: 'H-1', customProperties: [{ propertyId: two, value: 'v' }] }],
    holders: [{ identifier: 'H-2', standardId: two, level: null, startDate: null, expiryDate: null }],
  },
  calculatorsSearch: { customPropertyIds: [one, two, one], calculatorTypeIds: [two] },
  companiesSearch: { customPropertyIds: [one] },
  standardsSearch: {},
  standardHoldersSearch: { standardIds: [one] },
  frameworkAnswersSearch: { frameworkIds: [one], customPropertyIds: [] },
}
const kinds = Object.keys(full) as BodyKind[]

const lower = one.toLowerCase()
const read: ReadRequest[] = [
  {
    kind: 'companyMappings',
    body: {
      customIdentifierId: lower,
      companies: [
        {
          ...{ id: 'H-1', name: 'A', street: 'B', countryCode: 'DK', airportCode: 'CPH' },
          ...{ hotelCode: 'c', bookingId: 'd', coordinates: { latitude: 1, longitude: 2 } },
        },
      ],
    },
  },
  {
    kind: 'frameworkAnswersUpsert',
    body: {
      frameworkId: lower,
      companies: [
        {
          reference: { propertyId: two, value: 'H-1' },
          periods: [
            {
              ...{ periodType: 'Yearly', year: 2025, month: 'May' },
              answers: [{ dataPointId: one, answer: { number: 1 }, unitId: two }],
              omissions: [{ questionId: one }],
            },
          ],
        },
      ],
    },
  },
  {
    kind: 'calculatorsUpsert',
    body: {
      ...{ groupId: lower, customIdentifierId: two },
      companies: [
        {
          ...{ identifier: 'H-1', automaticYearlyCalculation: true, automaticPublishing: false },
          calculators: [{ year: 2025, month: 'May', inputs: [{ fieldTypeId: one, value: '1' }] }],
        },
      ],
    },
  },
  {
    kind: 'companiesUpsert',
    body: {
      customIdentifierId: lower,
      companies: [{ identifier: 'H-1', properties: [{ propertyId: two, value: 'v' }] }],
    },
  },
  {
    kind: 'standardHoldersUpsert',
    body: {
      customIdentifierId: lower,
      holders: [
        { identifier: 'H-1', standardId: two, level: 'Gold', startDate: '2025-01-01', expiryDate: '2026-01-01' },
      ],
    },
  },
  {
    kind: 'consolidatedUpsert',
    body: {
      customIdentifierId: lower,
      companies: [{ identifier: 'H-1', properties: [{ propertyId: two, value: 'v' }] }],
      holders: [{ identifier: 'H-2', standardId: two, level: null, startDate: null, expiryDate: null }],
    },
  },
  { kind: 'calculatorsSearch', body: { customPropertyIds: [lower, two], calculatorTypeIds: [two] } },
  { kind: 'companiesSearch', body: { customPropertyIds: [lower] } },
  { kind: 'standardsSearch', body: {} },
  { kind: 'standardHoldersSearch', body: { standardIds: [lower] } },
  { kind: 'frameworkAnswersSearch', body: { frameworkIds: [lower], customPropertyIds: null } },
]

it.each(read)(
  'a body of $kind is read into our own names, with ids in lower case where no row repeats them',
  (expected) => {
    expect(readBulkRequest(contract, expected.kind, full[expected.kind])).toEqual(expected)
  },
)

function refusal(kind: BodyKind, body: unknown): { status: number; code: string; message: string } {
  try {
    readBulkRequest(contract, kind, body)
  } catch (error) {
    if (error instanceof RequestRefused) return { status: error.status, code: error.code, message: error.message }
    throw error
  }
  throw new Error('the body was accepted')
}

/** The body with every place in it changed in turn: `change` gets the object or list, and the key or index. */
function* changed(
  body: Body,
  change: (at: Record<PropertyKey, unknown>, key: string) => void,
): Generator<[string, Body]> {
  for (const path of pathsOf(body)) {
    const copy = structuredClone(body)
    let at = copy as Record<PropertyKey, unknown>
    for (const key of path.slice(0, -1)) at = at[key] as Record<PropertyKey, unknown>
    change(at, path.at(-1) ?? '')
    yield [path.join('.'), copy]
  }
}

function* pathsOf(value: unknown): Generator<string[]> {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    yield [key]
    for (const path of pathsOf(member)) yield [key, ...path]
  }
}

const wrongs: [string, (at: Record<PropertyKey, unknown>, key: string) => void][] = [
  ['left out', (at, key) => (Array.isArray(at) ? at.splice(Number(key), 1) : delete at[key])],
  ['null', (at, key) => (at[key] = null)],
  ['a number', (at, key) => (at[key] = 7)],
  ['a text', (at, key) => (at[key] = 'text')],
  ['a truth', (at, key) => (at[key] = true)],
  ['an object', (at, key) => (at[key] = {})],
  ['a list', (at, key) => (at[key] = [])],
]

/** What the description cannot say, or says of a row that is judged later. */
const moreThanDescribed = /(^|\.)(answer(\.\w+)?|value|identifiedBy(\.\w+)?)$/

describe.each(kinds)('a body of %s', (kind) => {
  it.each(wrongs)('a body with any member being %s is taken or refused as the description has it', (_what, change) => {
    const { $schema: _, ...schema } = z.toJSONSchema(bulkBodies(contract)[kind], { io: 'input' })
    const described: ValidateFunction = new Ajv2020({ strict: false, formats: { uuid: true, date: true } }).compile(
      schema,
    )
    for (const [place, body] of changed(full[kind], change)) {
      if (moreThanDescribed.test(place)) continue
      const accepted = () => readBulkRequest(contract, kind, body)
      if (described(body)) expect(accepted, place).not.toThrow()
      else expect(accepted, place).toThrow(RequestRefused)
    }
  })

  it('takes null and an absent member for the same', () => {
    const [, left] = wrongs[0] ?? []
    const [, nulled] = wrongs[1] ?? []
    if (!left || !nulled) throw new Error('there is nothing to compare')
    const verdict = (body: unknown) => {
      try {
        return readBulkRequest(contract, kind, body)
      } catch (error) {
        return (error as RequestRefused).code
      }
    }
    const without = [...changed(full[kind], left)]
    for (const [index, [place, body]] of [...changed(full[kind], nulled)].entries()) {
      if (/\.\d+$/.test(place) || /answer\.\w+$/.test(place)) continue
      expect(verdict(body), place).toEqual(verdict(without[index]?.[1]))
    }
  })

  it('ignores members that nobody knows', () => {
    const add = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(add)
      if (typeof value !== 'object' || value === null) return value
      // Everything in an answer counts.
      const known = Object.entries(value).map(([key, member]) => [key, key === 'answer' ? member : add(member)])
      return { ...Object.fromEntries(known), added: 1 }
    }
    expect(readBulkRequest(contract, kind, add(full[kind]))).toEqual(readBulkRequest(contract, kind, full[kind]))
  })

  it('a body that is no object is refused', () => {
    for (const body of [null, 7, 'text', [], [full[kind]]]) {
      expect(refusal(kind, body)).toMatchObject({ status: 400, code: 'body_invalid' })
    }
  })
})

describe('a refusal', () => {
  it('says where the fault is', () => {
    const companies = [
      { identifier: 'a', customProperties: [] },
      { identifier: 'b', customProperties: [{ propertyId: 4 }] },
    ]
    expect(refusal('companiesUpsert', { customIdentifierId: one, companies })).toEqual({
      status: 400,
      code: 'body_invalid',
      message: 'body.companies[1].customProperties[0].propertyId: Invalid input: expected string, received number',
    })
  })

  it('has a code of its own for a member that is missing', () => {
    for (const groupId of [undefined, null, '']) {
      const { code, message } = refusal('calculatorsUpsert', { ...full.calculatorsUpsert, groupId })
      expect([code, message]).toEqual(['field_missing', 'body.groupId: is missing'])
    }
    expect(refusal('calculatorsUpsert', { ...full.calculatorsUpsert, groupId: 7 }).code).toBe('body_invalid')
  })

  it('a refusal of a million wrong rows is short, and soon made', () => {
    const wrong = { inputs: Array.from({ length: 1000 }, () => ({ value: '1' })) }
    const companies = Array.from({ length: 1000 }, () => ({ identifier: 'a', calculators: [wrong] }))
    const made: { code: string; message: string }[] = []
    const body = { groupId: one, customIdentifierId: two, companies }
    expect(processorMs(() => made.push(refusal('calculatorsUpsert', body)))).toBeLessThan(1_000)
    const [{ code, message } = { code: '', message: '' }] = made
    expect([code, message.split('; ').length, message.endsWith('; and more')]).toEqual(['field_missing', 6, true])
  })

  it('a refusal of an entry that names its company twice, or not at all, says so', () => {
    const { customProperty } = { customProperty: { customPropertyId: one, value: 'H-1' } }
    for (const identifiedBy of [{}, { companyId: one, customProperty }]) {
      const { code, message } = refusal('frameworkAnswersUpsert', { companies: [{ identifiedBy, periods: [] }] })
      expect([code, message]).toEqual([
        'body_invalid',
        'body.companies[0].identifiedBy: must hold either companyId or customProperty',
      ])
    }
  })

  it('a refusal of one answer too many comes at the second reading as at the first', () => {
    const answers = Array.from({ length: 50_001 }, () => ({ dataPointId: one, answer: { number: 1 } }))
    const periods = [{ periodType: 'Yearly', year: 2025, answers }]
    const body = { companies: [{ identifiedBy: { companyId: one }, periods }] }
    expect(refusal('frameworkAnswersUpsert', body).code).toBe('too_many_answers')
  })
})

it('a stored body is read as it was when it came, and a consolidated one is told by its path', () => {
  const { endpoints, otherEndpoints } = contract
  const stored = (kind: 'standardHoldersUpsert' | 'consolidatedUpsert', path: string) =>
    readStoredRequest(contract, { request: 'standardHoldersUpsert', path }, Buffer.from(JSON.stringify(full[kind])))
  expect(stored('standardHoldersUpsert', endpoints.standardHoldersUpsert.path)).toEqual(read[4])
  expect(stored('consolidatedUpsert', otherEndpoints.standardHoldersUpsertV1.path)).toEqual(read[5])
})

it('an answer is kept as it was sent, whatever it holds', () => {
  const answer = { number: 'no number', list: null, more: { deep: [1] } }
  const periods = [{ periodType: 'Never', answers: [{ dataPointId: 'no id', answer }] }]
  const body = { companies: [{ identifiedBy: { companyId: 'nobody' }, periods }] }
  expect(readBulkRequest(contract, 'frameworkAnswersUpsert', body)).toMatchObject({
    body: { companies: [{ periods: [{ year: null, month: null, answers: [{ answer, unitId: null }] }] }] },
  })
})
