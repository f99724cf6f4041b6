import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StreamName } from '../../../src/config/schema.ts'
import type { FrameworkDataPoint } from '../../../src/exchange/reference-data.ts'
import { checkRow } from '../../../src/pipeline/preflight/preflight.ts'
import { kinds } from '../../../src/pipeline/push/kinds.ts'
import { kindNames } from '../../../src/pipeline/streams/kind-names.ts'
import { valueTypeOf } from '../../../src/pipeline/streams/rules/answer-value.ts'
import { type ReferenceIndex, referenceIndexOf } from '../../../src/pipeline/streams/rules/reference-index.ts'
import { catalogue } from '../../../src/sandbox/catalogue.ts'
import { contract, type TestClient, testClient } from '../../exchange/test-client.ts'
import { startWorld, type World } from '../../helpers/world.ts'

let world: World
let client: TestClient
let reference: ReferenceIndex
let sent = 0

beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  client = testClient(world.sandboxUrl, { headersTimeoutMs: 30_000, bodyTimeoutMs: 30_000 })
  const frameworks = await Promise.all((await client.getFrameworks()).map(({ id }) => client.getFramework(id)))
  const source = {
    frameworks,
    unitTypes: await client.getUnitTypes(),
    customProperties: await client.getCustomProperties(),
  }
  reference = referenceIndexOf(source, { maxTextLength: 1_000, customIdentifierId: catalogue.customIdentifierId })
})
afterAll(async () => {
  await client[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const strange = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\ud800',
    'NaN',
    '-0',
    '1e400',
    '9'.repeat(400),
    '__proto__',
    '"',
    '\\',
    '\u2028',
    'null',
  ),
  fc.jsonValue(),
  fc.constant(undefined),
)
/** Mostly what is right, sometimes anything at all. */
const mostly = (...right: (string | undefined)[]) =>
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...right) }, { weight: 1, arbitrary: strange })

const points = () => [...reference.dataPoints.values()]
const period = {
  period_type: mostly('Yearly', 'Monthly'),
  year: mostly('2025', '1900'),
  month: mostly('1', '12', undefined),
}
/** Values that fit a data point, and some that fit others. */
const valuesOf = (point: FrameworkDataPoint): (string | undefined)[] => {
  const fitting: Record<string, string[]> = {
    text: ['some words', 'Straße 🏨\n'],
    number: ['12', '1.50', '-1e3'],
    boolean: ['true', 'false'],
    date: ['2025-01-31'],
    date_range: ['2025-01-01/2025-12-31'],
    list: [point.optionIds.join(','), JSON.stringify(point.optionIds)],
  }
  const right = fitting[valueTypeOf(point.valueType) ?? 'text'] ?? []
  return [...right, ...right, ...right, '12', 'true', undefined]
}
const details = ['A hotel', 'Zur Brücke "7"', '', undefined]

/** Content of each stream, most of it right. Made when the reference data are known. */
const contents: Record<StreamName, () => fc.Arbitrary<Record<string, unknown>>> = {
  properties: () =>
    fc.record({
      name: mostly(...details),
      street: mostly(...details),
      latitude: mostly('55.66', '-90', '1e-7'),
      longitude: mostly('12.58', '180'),
      country_code: mostly('DK', 'de', undefined),
      airport_code: mostly('CPH', undefined),
      hotel_code: mostly(...details),
      booking_id: mostly(...details),
    }),
  framework_answers: () =>
    fc.constantFrom(...points()).chain((point) =>
      fc.record({
        ...period,
        framework_id: mostly(undefined, ...[...reference.frameworks.values()].map(({ id }) => id)),
        data_point_id: mostly(point.id, point.id.toUpperCase()),
        value_type: mostly(undefined, point.valueType?.toLowerCase()),
        value: mostly(...valuesOf(point)),
        unit_id: mostly(...(point.unitIds.length > 0 ? point.unitIds : [undefined])),
      }),
    ),
  omissions: () => fc.record({ ...period, question_id: mostly(...reference.questionIds) }),
  calculator_inputs: () =>
    fc.record({
      year: period.year,
      month: period.month,
      inputs: fc.oneof(
        {
          weight: 9,
          arbitrary: fc.dictionary(fc.oneof(fc.uuid(), fc.uuid(), fc.string()), mostly('1', '', undefined)),
        },
        { weight: 1, arbitrary: strange },
      ),
    }),
  calculator_settings: () =>
    fc.record({
      automatic_yearly_calculation: mostly('true', 'false', undefined),
      automatic_publishing: mostly('true', undefined),
    }),
  custom_property_values: () =>
    fc.record({
      property_id: mostly(catalogue.brandPropertyId, catalogue.roomsPropertyId),
      value: mostly('12', 'Étoile', ''),
    }),
  standard_holders: () =>
    fc.record({
      standard_id: mostly(...catalogue.standards.map(({ id }) => id)),
      level: mostly('Gold', undefined),
      start_date: mostly('2025-01-01', undefined),
      expiry_date: mostly('2026-01-01', undefined),
    }),
}

describe.each(kindNames.flatMap((kind) => kinds[kind].streams.map((stream) => [stream, kind] as const)))(
  'a row of %s, whatever it holds,',
  (stream, kind) => {
    it('has a reason not to be sent, or makes a request that the service takes', async () => {
      const before = sent
      await fc.assert(
        fc.asyncProperty(
          mostly('H-0001', 'ß 🏨', "'; --"),
          contents[stream as keyof typeof contents](),
          async (partnerId, given) => {
            // As the ledger holds it: JSON, without what is absent.
            const content = JSON.parse(JSON.stringify(given)) as Record<string, unknown>
            const partner_id = typeof partnerId === 'string' ? partnerId : ''
            const reason = checkRow(contract, reference, stream, partner_id, content)
            if (reason !== null) {
              expect(reason.length).toBeGreaterThan(5)
              return
            }
            const partition = typeof content.framework_id === 'string' ? content.framework_id : ''
            const ids = { customIdentifierId: catalogue.customIdentifierId, groupId: catalogue.groupId, partition }
            const body = [
              ...kinds[kind].writeBody([{ stream, partner_id, content }], { contract, reference, ...ids }),
            ].join('')
            const { correlationId } = await client.submit(kinds[kind].request, Buffer.from(body))
            expect(correlationId).toMatch(/^[0-9a-f-]{36}$/)
            sent += 1
          },
        ),
        { numRuns: 200, seed: 20261121 },
      )
      // Were hardly any row right, the test would say little.
      expect(sent - before).toBeGreaterThan(10)
    })
  },
)
