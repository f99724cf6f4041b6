import { describe, expect, it } from 'vitest'
import type { OutgoingRow } from '../../../src/pipeline/push/bodies.ts'
import { kinds } from '../../../src/pipeline/push/kinds.ts'
import { type KindName, kindNames } from '../../../src/pipeline/streams/kind-names.ts'
import { identifiersOf, readBulkRequest } from '../../../src/sandbox/requests/read-bulk-request.ts'
import { contract } from '../../exchange/test-client.ts'
import { ids, reference } from './rows.ts'

function write(kind: KindName, rows: OutgoingRow[], partition = ''): string {
  const context = { contract, reference, customIdentifierId: ids.identifier, groupId: ids.group, partition }
  return [...kinds[kind].writeBody(rows, context)].join('')
}

const naughty = ['"', '\\', '</script>', "'; drop table x; --", '\u2028', '🏨', 'e\u0301', '__proto__', '\u202e', ' ']

describe('company mappings', () => {
  it('carry every detail that is known, and leave absent ones out', () => {
    const rows: OutgoingRow[] = [
      {
        stream: 'properties',
        partner_id: 'H-0001',
        content: {
          name: 'Zur Brücke',
          street: 'Am Kai 1',
          latitude: '55.66',
          longitude: '12.58',
          country_code: 'DK',
          airport_code: 'CPH',
          hotel_code: 'X1',
          booking_id: '77',
        },
      },
      { stream: 'properties', partner_id: 'H-0002', content: { name: 'B' } },
    ]
    expect(write('company_mappings', rows)).toBe(
      `{"customIdentifierId":"${ids.identifier}","companies":[` +
        '{"id":"H-0001","name":"Zur Brücke","street":"Am Kai 1","coordinates":{"latitude":55.66,"longitude":12.58},' +
        '"countryCode":"DK","airportCode":"CPH","hotelCode":"X1","bookingId":"77"},' +
        '{"id":"H-0002","name":"B"}]}',
    )
  })

  it('company mappings hold no detail that is blank', () => {
    const blank = { street: '', latitude: '', longitude: ' ', country_code: '', airport_code: '  ', booking_id: '\t' }
    const rows = [{ stream: 'properties', partner_id: 'H-1', content: { name: ' B ', ...blank, hotel_code: '' } }]
    expect(write('company_mappings', rows)).toContain('[{"id":"H-1","name":" B "}]')
  })
})

describe('framework answers', () => {
  const period = { period_type: 'Yearly', year: '2025', month: '1' }
  const number = { ...period, framework_id: ids.framework, data_point_id: ids.number, value: '12.50' }

  it('framework answers are grouped by property and period, with omissions beside answers', () => {
    const rows: OutgoingRow[] = [
      { stream: 'framework_answers', partner_id: 'H-1', content: { ...number, unit_id: ids.unit } },
      { stream: 'framework_answers', partner_id: 'H-1', content: { ...number, month: '3', period_type: 'Monthly' } },
      { stream: 'omissions', partner_id: 'H-1', content: { ...period, question_id: ids.question } },
      {
        stream: 'framework_answers',
        partner_id: 'H-1',
        content: { ...number, data_point_id: ids.list, value: `["${ids.option}"]` },
      },
      { stream: 'omissions', partner_id: 'H-2', content: { ...period, year: '2024', question_id: ids.question } },
    ]
    const identifiedBy = (value: string) => ({ customProperty: { customPropertyId: ids.identifier, value } })
    expect(JSON.parse(write('framework_answers', rows, ids.framework))).toEqual({
      frameworkId: ids.framework,
      companies: [
        {
          identifiedBy: identifiedBy('H-1'),
          periods: [
            {
              periodType: 'Yearly',
              year: 2025,
              month: 'January',
              answers: [
                { dataPointId: ids.number, answer: { number: 12.5 }, unitId: ids.unit },
                { dataPointId: ids.list, answer: { list: [ids.option] } },
              ],
              omissions: [{ questionId: ids.question }],
            },
            {
              periodType: 'Monthly',
              year: 2025,
              month: 'March',
              answers: [{ dataPointId: ids.number, answer: { number: 12.5 } }],
            },
          ],
        },
        {
          identifiedBy: identifiedBy('H-2'),
          periods: [{ periodType: 'Yearly', year: 2024, month: 'January', omissions: [{ questionId: ids.question }] }],
        },
      ],
    })
  })

  it('framework answers without a framework carry none', () => {
    const rows: OutgoingRow[] = [{ stream: 'framework_answers', partner_id: 'H-1', content: number }]
    expect(JSON.parse(write('framework_answers', rows))).not.toHaveProperty('frameworkId')
  })

  it.each([
    ['text', ' 007 ', { text: ' 007 ' }],
    ['number', '1e3', { number: 1000 }],
    ['boolean', 'false', { boolean: false }],
    ['date', '2025-06-30', { dateIso: '2025-06-30' }],
    ['date_range', '2025-01-01/2025-06-30', { dateRangeFromDateIso: '2025-01-01', dateRangeToDateIso: '2025-06-30' }],
    ['list', 'a,b', { list: ['a', 'b'] }],
  ])('framework answers of type %s have exactly one member', (value_type, value, expected) => {
    const rows: OutgoingRow[] = [
      { stream: 'framework_answers', partner_id: 'H-1', content: { ...number, value_type, value } },
    ]
    const body = JSON.parse(write('framework_answers', rows)) as {
      companies: { periods: { answers: { answer: unknown }[] }[] }[]
    }
    expect(body.companies[0]?.periods[0]?.answers[0]?.answer).toEqual(expected)
  })

  it('framework answers that preflight would have refused are not written', () => {
    const content = { ...number, value: 'many' }
    const rows: OutgoingRow[] = [{ stream: 'framework_answers', partner_id: 'H-1', content }]
    expect(() => write('framework_answers', rows)).toThrow("'many' is no number")
  })
})

describe('calculators', () => {
  it('carry inputs by period as the strings that they are, one that was taken back as blank, and the switches once for a property', () => {
    const rows: OutgoingRow[] = [
      {
        stream: 'calculator_inputs',
        partner_id: 'H-1',
        content: { year: '2025', month: '3', inputs: { [ids.field]: '1234.50', [ids.otherField]: null } },
      },
      { stream: 'calculator_settings', partner_id: 'H-1', content: { automatic_publishing: 'false' } },
      { stream: 'calculator_inputs', partner_id: 'H-1', content: { year: '2024', inputs: { [ids.field]: '9' } } },
      { stream: 'calculator_settings', partner_id: 'H-2', content: { automatic_yearly_calculation: 'true' } },
    ]
    expect(JSON.parse(write('calculators', rows))).toEqual({
      groupId: ids.group,
      customIdentifierId: ids.identifier,
      companies: [
        {
          identifier: 'H-1',
          automaticPublishing: false,
          calculators: [
            {
              period: { year: 2025, month: 'March' },
              inputs: [
                { fieldTypeId: ids.field, value: '1234.50' },
                { fieldTypeId: ids.otherField, value: '' },
              ],
            },
            { period: { year: 2024 }, inputs: [{ fieldTypeId: ids.field, value: '9' }] },
          ],
        },
        { identifier: 'H-2', automaticYearlyCalculation: true, calculators: [] },
      ],
    })
  })

  it('carry an input once of which the other spelling was taken back', () => {
    const small = 'abcdefab-0000-4000-8000-000000000001'
    const capitals = small.toUpperCase()
    const sent = (inputs: Record<string, string | null>) => {
      const content = { year: '2025', inputs }
      const body = write('calculators', [{ stream: 'calculator_inputs', partner_id: 'H-1', content }])
      return JSON.parse(body).companies[0].calculators[0].inputs
    }
    expect(sent({ [capitals]: null, [small]: '1' })).toEqual([{ fieldTypeId: small, value: '1' }])
    expect(sent({ [capitals]: '1', [small]: null })).toEqual([{ fieldTypeId: capitals, value: '1' }])
    expect(sent({ [capitals]: null, [small]: null })).toEqual([{ fieldTypeId: capitals, value: '' }])
  })
})

describe('custom property values and standard holders', () => {
  it('custom property values and standard holders are grouped by property where the request is', () => {
    const value = (partner_id: string, property_id: string, text: string): OutgoingRow => ({
      stream: 'custom_property_values',
      partner_id,
      content: { property_id, value: text },
    })
    const rows = [value('H-1', ids.property, 'a'), value('H-1', ids.field, ''), value('H-2', ids.property, 'b')]
    expect(JSON.parse(write('companies', rows))).toEqual({
      customIdentifierId: ids.identifier,
      companies: [
        {
          identifier: 'H-1',
          customProperties: [
            { propertyId: ids.property, value: 'a' },
            { propertyId: ids.field, value: '' },
          ],
        },
        { identifier: 'H-2', customProperties: [{ propertyId: ids.property, value: 'b' }] },
      ],
    })
  })

  it('leave out what a certificate does not have', () => {
    const holder = (content: Record<string, string>): OutgoingRow => ({
      stream: 'standard_holders',
      partner_id: 'H-1',
      content: { standard_id: ids.standard, ...content },
    })
    const rows = [holder({}), holder({ level: 'Gold', start_date: '2025-01-01', expiry_date: '2026-01-01' })]
    expect(JSON.parse(write('standard_holders', rows))).toEqual({
      customIdentifierId: ids.identifier,
      holders: [
        { identifier: 'H-1', standardId: ids.standard },
        {
          identifier: 'H-1',
          standardId: ids.standard,
          level: 'Gold',
          startDate: '2025-01-01',
          expiryDate: '2026-01-01',
        },
      ],
    })
  })
})

describe.each(kindNames)('every body of %s', (kind) => {
  const contents: Record<KindName, OutgoingRow['content']> = {
    company_mappings: { name: 'A', latitude: '1', longitude: '-0.5' },
    framework_answers: { period_type: 'Yearly', year: '2025', month: '7', data_point_id: ids.number, value: '1' },
    calculators: { year: '2025', month: '12', inputs: { [ids.field]: '1' } },
    companies: { property_id: ids.property, value: 'v' },
    standard_holders: { standard_id: ids.standard },
  }
  const [stream] = kinds[kind].streams as [OutgoingRow['stream']]

  it('a body is taken by the service, with the ids as they are', () => {
    const rows = naughty.map((partner_id) => ({ stream, partner_id, content: contents[kind] }))
    const read = readBulkRequest(contract, kinds[kind].request, JSON.parse(write(kind, rows)))
    expect(identifiersOf(read)).toEqual(naughty)
  })

  it('a body is a document without any row, too', () => {
    const read = readBulkRequest(contract, kinds[kind].request, JSON.parse(write(kind, [])))
    expect(identifiersOf(read)).toEqual([])
  })
})
