import { describe, expect, it } from 'vitest'
import type { StreamName } from '../../../src/config/schema.ts'
import { checkRow, rowWarnings } from '../../../src/pipeline/preflight/preflight.ts'
import { type ReferenceIndex, referenceIndexOf } from '../../../src/pipeline/streams/rules/reference-index.ts'
import type { RowContent } from '../../../src/pipeline/streams/rules/row-content.ts'
import { contract } from '../../exchange/test-client.ts'
import { dataPoint, ids, reference } from '../push/rows.ts'

const property = (id: string, change: object) => ({
  id,
  name: 'Brand',
  type: 'String',
  isIdentifier: false,
  isOwnedByInvokingCompany: true,
  ownerName: null,
  ...change,
})
const rooms = '00000000-0000-4000-8000-0000000000a1'
const foreign = '00000000-0000-4000-8000-0000000000a2'
const yearly = '00000000-0000-4000-8000-0000000000b1'
const monthly = '00000000-0000-4000-8000-0000000000b2'
const openList = '00000000-0000-4000-8000-0000000000b3'

/** What rows.ts knows, with custom properties, a limit on texts and data points of every period. */
const world: ReferenceIndex = referenceIndexOf(
  {
    frameworks: [
      {
        id: ids.framework,
        title: 'Responsible Hotel',
        questionIds: [ids.question],
        dataPoints: [
          ...[ids.number, ids.list, ids.strange].map(dataPoint),
          { ...dataPoint(yearly), valueType: 'text', reportingPeriodType: 'Yearly' },
          { ...dataPoint(monthly), valueType: 'text', reportingPeriodType: 'monthly' },
          { ...dataPoint(openList), valueType: 'list' },
        ],
        titles: { [ids.question]: 'How much?', [ids.number]: 'Energy', [ids.list]: 'Sources', [ids.option]: 'Solar' },
      },
      { id: ids.otherFramework, title: 'Living Coast', questionIds: [], dataPoints: [], titles: {} },
    ],
    unitTypes: [
      { id: ids.unitType, name: 'Energy', units: [{ id: ids.unit, name: 'Kilowatt hour', abbreviation: 'kWh' }] },
      { id: ids.group, name: 'Water', units: [{ id: ids.company, name: 'Litre', abbreviation: 'l' }] },
    ],
    customProperties: [
      property(ids.brand, {}),
      property(rooms, { name: 'Rooms', type: 'Number' }),
      property(foreign, { name: 'Theirs', isOwnedByInvokingCompany: false, ownerName: 'Harbour & Hill' }),
      property(ids.identifier, { name: 'Partner id', isIdentifier: true }),
    ],
    variableIds: [ids.field],
  },
  { maxTextLength: 300, customIdentifierId: ids.identifier },
)

const check = (stream: StreamName, content: RowContent, partnerId = 'H-1') =>
  checkRow(contract, world, stream, partnerId, content)

const period = { period_type: 'Yearly', year: '2025', month: '1' }
const answer = { ...period, data_point_id: ids.number, value: '1.5', unit_id: ids.unit }
const choice = { ...period, data_point_id: ids.list, value: ids.option }
const omission = { ...period, question_id: ids.question }
const inputs = { year: '2025', month: '3', inputs: { [ids.field]: '1' } }
const near = (id: string) => `${id.slice(0, -1)}f`

describe('preflight', () => {
  it.each<[StreamName, RowContent]>([
    ['properties', { name: 'Zur Brücke' }],
    ['properties', { latitude: '-90', longitude: '180.0' }],
    ['properties', { latitude: '1e-05', longitude: '0' }],
    ['properties', { name: 'A', latitude: '', longitude: ' ' }],
    ['properties', { name: 'A', country_code: 'dk', airport_code: 'CPH' }],
    ['properties', { name: 'A', country_code: '', street: '' }],
    ['properties', { name: 'right to left \u202e and a tab\t' }],
    ['framework_answers', answer],
    ['framework_answers', { ...answer, framework_id: ids.framework }],
    ['framework_answers', { ...answer, unit_id: ids.unit.toUpperCase(), data_point_id: ids.number.toUpperCase() }],
    ['framework_answers', { ...answer, value_type: 'number' }],
    ['framework_answers', { ...period, data_point_id: yearly, value: 'two\r\nlines' }],
    ['framework_answers', { ...period, period_type: 'Monthly', data_point_id: monthly, value: 'x' }],
    ['framework_answers', { ...period, data_point_id: ids.strange, value: 'anything', value_type: 'text' }],
    ['framework_answers', choice],
    ['framework_answers', { ...choice, value: `["${ids.option.toUpperCase()}"]` }],
    ['framework_answers', { ...choice, data_point_id: openList, value: ids.company }],
    ['omissions', { ...omission, period_type: 'Monthly', month: '12' }],
    ['calculator_inputs', inputs],
    ['calculator_inputs', { year: '2025', inputs: { [ids.field]: '' } }],
    ['calculator_inputs', { year: '2025', inputs: { [ids.field]: null } }],
    ['calculator_settings', { automatic_publishing: 'false' }],
    ['custom_property_values', { property_id: ids.brand, value: '' }],
    ['custom_property_values', { property_id: rooms, value: '12' }],
    ['standard_holders', { standard_id: ids.standard }],
    ['standard_holders', { standard_id: ids.standard, start_date: '2025-01-01', expiry_date: '2025-01-01' }],
  ])('passes a row of %s: %j', (stream, content) => {
    expect(check(stream, content)).toBeNull()
  })

  it.each<[StreamName, RowContent, string]>([
    ['properties', {}, 'nothing is known but the partner id'],
    ['properties', { name: ' ', street: '' }, 'nothing is known but the partner id'],
    ['properties', { latitude: '1' }, 'must come together'],
    ['properties', { latitude: '1', longitude: '' }, 'must come together'],
    ['properties', { latitude: '', longitude: ' ' }, 'nothing to match by'],
    ['properties', { longitude: '1' }, 'must come together'],
    ['properties', { latitude: '90.1', longitude: '0' }, 'latitude 90.1'],
    ['properties', { latitude: '0', longitude: '-180.5' }, 'longitude -180.5'],
    ['properties', { latitude: 'NaN', longitude: '0' }, 'latitude NaN'],
    ['properties', { latitude: '0', longitude: 'Infinity' }, 'longitude Infinity'],
    ['properties', { name: 'A', country_code: 'DNK' }, "country_code 'DNK' is none of ISO 3166-1 alpha-2"],
    ['properties', { name: 'A', airport_code: 'EKCH' }, "airport_code 'EKCH' is none of IATA"],
    ['properties', { name: 'nul \0' }, 'name holds the control character U+0000 at position 5, which can be neither'],
    ['properties', { name: 'bell \u0007' }, 'name holds the control character U+0007 at position 6'],
    ['properties', { street: 'L\u0092Avenue' }, 'U+0092 at position 2: is its encoding right?'],
    ['properties', { name: 'half \ud83c' }, 'name holds half of a surrogate pair'],
    [
      'properties',
      { name: 'x'.repeat(301) },
      'name has 301 characters; push.maxTextLength allows 300, a limit of ours',
    ],
    ['framework_answers', { ...answer, period_type: 'Weekly' }, "period_type 'Weekly'"],
    ['framework_answers', { ...answer, period_type: undefined }, "period_type ''"],
    ['framework_answers', { ...answer, year: '25' }, "year '25'"],
    ['framework_answers', { ...answer, year: '20255' }, "year '20255'"],
    ['framework_answers', { ...answer, year: '0202' }, 'year 0202 is not between 1900 and 2100'],
    ['framework_answers', { ...answer, year: '2205' }, 'year 2205 is not between 1900 and 2100'],
    ['framework_answers', { ...answer, year: undefined }, "year ''"],
    ['framework_answers', { ...answer, month: '13' }, "month '13'"],
    ['framework_answers', { ...answer, month: '0' }, "month '0'"],
    ['framework_answers', { ...answer, month: '03' }, "month '03' is not between 1 and 12, written without"],
    ['framework_answers', { ...answer, period_type: 'Monthly', month: undefined }, 'needs a month'],
    ['framework_answers', { ...answer, data_point_id: 'x' }, "data_point_id 'x' is no id"],
    ['framework_answers', { ...answer, data_point_id: ids.standard }, 'is in no framework'],
    ['framework_answers', { ...answer, data_point_id: ids.question }, '; it is the question "How much?"'],
    [
      'framework_answers',
      { ...answer, data_point_id: ids.option },
      '; it is an option "Solar" of the data point "Sources"',
    ],
    ['framework_answers', { ...answer, data_point_id: near(ids.number) }, `; "Energy" (${ids.number}) is close to it`],
    ['framework_answers', { ...answer, framework_id: 'main' }, "framework_id 'main' is no id"],
    ['framework_answers', { ...answer, framework_id: ids.standard }, `none of the service's`],
    [
      'framework_answers',
      { ...answer, framework_id: ids.standard },
      `There are: "Responsible Hotel" (${ids.framework}), "Liv`,
    ],
    [
      'framework_answers',
      { ...answer, framework_id: ids.otherFramework },
      `it is in "Responsible Hotel" (${ids.framework})`,
    ],
    ['framework_answers', { ...period, data_point_id: monthly, value: 'x' }, 'is reported Monthly, not Yearly'],
    [
      'framework_answers',
      { ...period, period_type: 'Monthly', data_point_id: yearly, value: 'x' },
      'Yearly, not Monthly',
    ],
    ['framework_answers', { ...answer, value_type: 'numeric' }, "value_type 'numeric' is none of"],
    ['framework_answers', { ...answer, value_type: 'text' }, `"Energy" (${ids.number}), which takes number`],
    ['framework_answers', { ...answer, data_point_id: ids.strange }, "framework's 'Hologram' is not known"],
    ['framework_answers', { ...answer, value: undefined }, 'value is empty'],
    ['framework_answers', { ...period, data_point_id: yearly, value: ' \t' }, 'value is empty'],
    ['framework_answers', { ...answer, value: 'many' }, "'many' is no number"],
    ['framework_answers', { ...answer, unit_id: undefined }, `needs a unit_id, one of: "Kilowatt hour" (${ids.unit})`],
    ['framework_answers', { ...answer, unit_id: ids.company }, 'does not belong to data point "Energy"'],
    ['framework_answers', { ...answer, unit_id: ids.company }, '; it is the unit Litre. It takes: "Kilowatt hour"'],
    ['framework_answers', { ...answer, unit_id: ids.unitType }, '; it is the unit type Energy'],
    [
      'framework_answers',
      { ...answer, unit_id: 'kwh' },
      `unit_id 'kwh' is what the unit is called; its id is needed: ${ids.unit}`,
    ],
    ['framework_answers', { ...choice, unit_id: ids.unit }, 'takes no unit; unit_id must be null'],
    ['framework_answers', { ...choice, value: '[]' }, 'is no list of option ids'],
    ['framework_answers', { ...choice, value: `${ids.option},` }, 'is no list of option ids'],
    ['framework_answers', { ...choice, value: `${ids.option},${ids.option.toUpperCase()}` }, 'is chosen twice'],
    ['framework_answers', { ...choice, value: `${ids.option},${ids.standard}` }, 'is none of the data point "Sources"'],
    [
      'framework_answers',
      { ...choice, value: ids.unit },
      `; it is the unit Kilowatt hour. It has: "Solar" (${ids.option})`,
    ],
    ['framework_answers', { ...choice, value: 'solar' }, `is called; its id is needed: ${ids.option}`],
    ['omissions', { ...omission, question_id: ids.standard }, 'is in no framework'],
    ['omissions', { ...omission, question_id: ids.number }, 'the data point "Energy" of the question "How much?"'],
    ['omissions', { ...omission, question_id: undefined }, "question_id '' is no id"],
    ['omissions', { ...omission, period_type: 'Monthly', month: undefined }, 'needs a month'],
    ['calculator_inputs', { ...inputs, year: 'x' }, "year 'x'"],
    ['calculator_inputs', { ...inputs, month: '99' }, "month '99'"],
    ['calculator_inputs', { ...inputs, inputs: {} }, 'every input is empty'],
    ['calculator_inputs', { year: '2025' }, 'every input is empty'],
    ['calculator_inputs', { ...inputs, inputs: { [ids.field]: '1', '': '2' } }, "field_type_id '' is no id"],
    ['calculator_inputs', { ...inputs, inputs: { [ids.field]: 'a\u0001' } }, 'control character U+0001'],
    ['calculator_inputs', { ...inputs, inputs: { [ids.field]: 5 } }, 'is no text'],
    ['calculator_settings', {}, 'neither switch is set'],
    ['calculator_settings', { automatic_yearly_calculation: 'yes' }, "automatic_yearly_calculation 'yes'"],
    ['calculator_settings', { automatic_publishing: '1' }, "automatic_publishing '1'"],
    ['custom_property_values', { value: 'x' }, "property_id '' is no id"],
    ['custom_property_values', { property_id: ids.brand }, 'value is empty'],
    ['custom_property_values', { property_id: ids.standard, value: 'x' }, 'is none that this key can see'],
    ['custom_property_values', { property_id: near(ids.brand), value: 'x' }, 'is close to it'],
    ['custom_property_values', { property_id: foreign, value: 'x' }, 'belongs to Harbour & Hill'],
    ['custom_property_values', { property_id: ids.identifier.toUpperCase(), value: 'x' }, 'is the identifier'],
    ['custom_property_values', { property_id: rooms, value: 'many' }, "takes numbers, and 'many' is none"],
    ['standard_holders', { standard_id: 'gold' }, "standard_id 'gold' is no id"],
    ['standard_holders', { standard_id: ids.standard, level: ' ' }, 'level is blank'],
    ['standard_holders', { standard_id: ids.standard, start_date: '2025-02-30' }, "start_date '2025-02-30' is no date"],
    [
      'standard_holders',
      { standard_id: ids.standard, expiry_date: '2025-02-03 00:00:00' },
      'expected, as in 2025-02-03',
    ],
    [
      'standard_holders',
      { standard_id: ids.standard, start_date: '2025-01-02', expiry_date: '2025-01-01' },
      'expiry_date 2025-01-01 is before start_date 2025-01-02',
    ],
  ])('refuses a row of %s: %j', (stream, content, reason) => {
    expect(check(stream, content)).toContain(reason)
  })

  it('refuses an input that stands twice, in capitals and in small letters', () => {
    const id = 'abcdefab-0000-4000-8000-000000000001'
    const twice = { ...inputs, inputs: { [id]: '1', [id.toUpperCase()]: '2' } }
    expect(check('calculator_inputs', twice)).toBe(`field_type_id ${id} stands twice, in capitals and in small letters`)
  })

  it('passes an input of which the other spelling was taken back', () => {
    const id = 'abcdefab-0000-4000-8000-000000000001'
    const respelt = (value: string | null, other: string | null) =>
      check('calculator_inputs', { ...inputs, inputs: { [id]: value, [id.toUpperCase()]: other } })
    expect([respelt('1', null), respelt(null, '1'), respelt(null, null)]).toEqual([null, null, null])
  })

  it.each([
    ['', 'partner_id is empty'],
    ['   ', 'partner_id is empty'],
    ['x'.repeat(256), 'partner_id is longer than 255 characters'],
    ['H-\n1', 'partner_id holds a tabulator or an end of line'],
    ['H-\u001b1', 'partner_id holds the control character U+001B at position 3'],
    ['H-\udc00', 'partner_id holds half of a surrogate pair: it was cut in the middle of a character'],
  ])('refuses the partner id %j, whatever the row holds', (partnerId, reason) => {
    expect(check('standard_holders', { standard_id: ids.standard }, partnerId)).toBe(reason)
  })

  it('says nothing about data points, questions and properties while none is known', () => {
    const unknown = referenceIndexOf({})
    const judged = (stream: StreamName, content: RowContent) => checkRow(contract, unknown, stream, 'H-1', content)
    expect(judged('framework_answers', { ...answer, value_type: 'number', framework_id: ids.standard })).toBeNull()
    expect(judged('framework_answers', answer)).toContain('value_type is null')
    expect(judged('omissions', { ...omission, question_id: ids.standard })).toBeNull()
    expect(judged('custom_property_values', { property_id: ids.standard, value: 'x' })).toBeNull()
  })

  it('judges by what rows.ts knows as by any other', () => {
    expect(checkRow(contract, reference, 'framework_answers', 'H-1', answer)).toBeNull()
  })
})

describe('a warning', () => {
  it.each<[StreamName, RowContent, RegExp]>([
    ['properties', { latitude: '0.000', longitude: '-0' }, /a place in the sea/],
    ['calculator_inputs', { ...inputs, inputs: { [ids.field]: '1', [ids.otherField]: '1' } }, /has named 0000.* yet/],
  ])('a warning is given of a row of %s that is sent all the same: %j', (stream, content, words) => {
    expect(check(stream, content)).toBeNull()
    expect(rowWarnings(world, stream, content)).toEqual([
      { kind: expect.stringMatching(/^[a-z_]+$/), detail: expect.stringMatching(words) },
    ])
  })

  it.each<[StreamName, RowContent]>([
    ['properties', { latitude: '0', longitude: '12' }],
    ['properties', { name: 'A', latitude: '', longitude: ' ' }],
    ['properties', { name: 'A' }],
    ['calculator_inputs', inputs],
  ])('a warning is not given of a row of %s: %j', (stream, content) => {
    expect(rowWarnings(world, stream, content)).toEqual([])
  })

  it('preflight gives no warning of a field type that no page has named before any page was loaded', () => {
    expect(rowWarnings(referenceIndexOf({}), 'calculator_inputs', inputs)).toEqual([])
  })
})
