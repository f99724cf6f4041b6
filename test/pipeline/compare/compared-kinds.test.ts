import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { mayBeSameAnswer } from '../../../src/pipeline/compare/answers.ts'
import type { SentRow } from '../../../src/pipeline/compare/compare-company.ts'
import { type ComparedKind, comparedKinds } from '../../../src/pipeline/compare/compared-kinds.ts'
import { some } from '../../helpers/some.ts'
import { contract } from '../pull/sample-page.ts'
import { ids, reference } from '../push/rows.ts'

const kinds = new Map(comparedKinds(contract, ids.identifier.toUpperCase()).map((kind) => [kind.name, kind]))

function kindOf(name: ComparedKind['name']): ComparedKind {
  const kind = kinds.get(name)
  if (kind === undefined) throw new Error(`there is no kind ${name}`)
  return kind
}

const row = (content: Record<string, unknown>, stream = 'framework_answers', partnerId = 'H-1'): SentRow => ({
  row_id: 1,
  stream,
  partner_id: partnerId,
  content,
  standing: 'settled',
  accepted_at: null,
})

/** Whether what a page shows holds what a row should have left there; null: nobody can tell. */
function isThere(name: ComparedKind['name'], documents: unknown[], sent: SentRow, body = {}): boolean | null {
  const kind = kindOf(name)
  const wanted = kind.judge(kind.properties(body), reference).expected(sent)
  if (wanted === null) return null
  return (
    kind
      .read(documents)
      ?.get(wanted.thing)
      ?.values.some((value) => isDeepStrictEqual(value, wanted.value)) ?? false
  )
}

describe('answers', () => {
  const answers = (...list: object[]) => [
    { periods: [{ periodType: 'Yearly', year: 2025, month: 'January', answers: list }] },
  ]
  const sent = (over: Record<string, unknown>) =>
    row({ period_type: 'Yearly', year: '2025', data_point_id: ids.number, value: '12.50', unit_id: ids.unit, ...over })

  it.each<[string, object, Record<string, unknown>, boolean | null]>([
    ['a number is written otherwise', { answer: { number: 12.5 }, unitId: ids.unit }, {}, true],
    ['a number is sent as text', { answer: { number: '12.5' }, unitId: ids.unit.toUpperCase() }, {}, true],
    ['it is another', { answer: { number: 12.6 }, unitId: ids.unit }, {}, false],
    ['the unit is not named there', { answer: { number: 12.5 } }, {}, false],
    ['the unit is named nowhere', { answer: { number: 12.5 } }, { unit_id: null }, true],
    [
      'a list comes in another order',
      { dataPointId: ids.list, answer: { list: ['B', 'a'] } },
      { data_point_id: ids.list, value: '["A","b"]', unit_id: null },
      true,
    ],
    ['it is a text', { answer: { text: 'yes' } }, { value_type: 'text', value: 'yes', unit_id: null }, true],
    [
      'it is a text, beside members that are null',
      { answer: { number: null, text: 'yes', boolean: null, list: null } },
      { value_type: 'text', value: 'yes', unit_id: null },
      true,
    ],
    ['it is a boolean', { answer: { boolean: true } }, { value_type: 'boolean', value: 'true', unit_id: null }, true],
    [
      'a day comes back as a moment',
      { answer: { dateIso: '2025-03-01T00:00:00Z' } },
      { value_type: 'date', value: '2025-03-01', unit_id: null },
      true,
    ],
    [
      'days of a range come back as moments',
      { answer: { dateRangeFromDateIso: '2025-03-01T00:00:00Z', dateRangeToDateIso: '2025-03-09' } },
      { value_type: 'date_range', value: '2025-03-01/2025-03-09', unit_id: null },
      true,
    ],
    ['the type of the data point is not known', { answer: { text: 'x' } }, { data_point_id: ids.strange }, null],
    ['the year is none', { answer: { number: 12.5 } }, { year: 'soon' }, null],
  ])('answers are held against a page where %s', (_, answer, over, expected) => {
    expect(isThere('answers', answers({ dataPointId: ids.number, ...answer }), sent(over))).toBe(expected)
  })

  it('an omission is there by its question and period', () => {
    const declined = row({ period_type: 'Yearly', year: '2025', question_id: ids.question }, 'omissions')
    const page = (year: number) => [
      { periods: [{ periodType: 'Yearly', year, omissions: [{ questionId: ids.question }] }] },
    ]
    expect(isThere('answers', page(2025), declined)).toBe(true)
    expect(isThere('answers', page(2024), declined)).toBe(false)
    expect(isThere('answers', page(2025), row({ period_type: 'Yearly', year: '2025' }, 'omissions'))).toBeNull()
  })

  it('a unit that only one side names, and another unit, leave it open whether the answer is the same', () => {
    const answer = (value: string, unit: string | null = null) => ({ value, unit })
    expect(mayBeSameAnswer(answer('number 1', 'a'), answer('number 1'))).toBe(true)
    expect(mayBeSameAnswer(answer('number 1', 'a'), answer('number 2'))).toBe(false)
    expect(mayBeSameAnswer(answer('number 1', 'a'), answer('number 1000', 'b'))).toBe(true)
    expect(mayBeSameAnswer(answer('number 1', 'a'), answer('number 2', 'a'))).toBe(false)
    expect(mayBeSameAnswer(answer('text A unit B'), answer('text A'))).toBe(false)
    expect(mayBeSameAnswer(answer('text Litres per unit sold'), answer('text kWh per unit bought'))).toBe(false)
  })

  it.each([
    ['month', { month: null, answers: [], omissions: [] }],
    ['list of answers', { answers: null, omissions: [] }],
    ['list of omissions', { answers: [], omissions: null }],
  ])('a %s that is null is not there, and the rest of its page is read', (_, nulls) => {
    const whole = { periodType: 'Yearly', year: 2025, answers: [{ dataPointId: ids.number, answer: { number: 12.5 } }] }
    const documents = [{ periods: [{ periodType: 'Yearly', year: 2024, ...nulls }, whole] }]
    expect(isThere('answers', documents, sent({ unit_id: null }))).toBe(true)
  })

  it('a period whose month is null is the year', () => {
    const answered = [{ dataPointId: ids.number, answer: { number: 12.5 } }]
    const documents = [{ periods: [{ periodType: 'Yearly', year: 2025, month: null, answers: answered }] }]
    expect(isThere('answers', documents, sent({ unit_id: null }))).toBe(true)
  })

  it('a page that is laid out otherwise says nothing at all', () => {
    const period = { periodType: 'Yearly', year: 2025 }
    const others: unknown[] = [
      {},
      { periods: {} },
      { periods: ['2025'] },
      { periods: [{ ...period, periodType: 'Weekly' }] },
      { periods: [{ ...period, month: 'Brumaire' }] },
      { periods: [{ ...period, answers: {} }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { hologram: 1 } }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { number: 'many' } }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { number: null } }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { number: '' } }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { number: true } }] }] },
      { periods: [{ ...period, answers: [{ dataPointId: ids.number, answer: { number: [7] } }] }] },
      { periods: [{ ...period, omissions: [{}] }] },
    ]
    for (const document of some(others))
      expect([document, kindOf('answers').read([document])]).toEqual([document, null])
  })
})

describe('custom property values and mappings', () => {
  const asked = { customPropertyIds: [ids.identifier, ids.property.toUpperCase()] }
  const page = [{ fields: { [ids.property.toUpperCase()]: ['12'], [ids.identifier]: ['H-1', 'H-9'] } }]
  const value = (over: object) => row({ property_id: ids.property, value: '12', ...over }, 'custom_property_values')

  it('a value is there under its property, in whatever case the ids are', () => {
    expect(isThere('property_values', page, value({}), asked)).toBe(true)
    expect(isThere('property_values', page, value({ value: '13' }), asked)).toBe(false)
    expect(isThere('property_values', [{}], value({}), asked)).toBe(false)
  })

  it('a company whose fields are null, or a property whose values are, has no value', () => {
    for (const fields of [null, { [ids.property]: null }]) {
      const things = kindOf('property_values').read([...page, { fields }])
      expect([fields, things?.get(ids.identifier)?.values.length]).toEqual([fields, 2])
      expect(isThere('property_values', [{ fields }], value({}), asked)).toBe(false)
      expect(kindOf('property_values').read([{ fields }])).not.toBeNull()
    }
  })

  it('nobody can tell of a blank value, nor of a property that the search did not ask for', () => {
    expect(isThere('property_values', page, value({ value: ' ' }), asked)).toBeNull()
    expect(isThere('property_values', page, value({ property_id: ids.brand }), asked)).toBeNull()
    expect(isThere('property_values', page, value({}), {})).toBeNull()
  })

  it('each partner id under the identifier is a mapping of its own', () => {
    const hotel = (partnerId: string) => row({ name: 'One' }, 'properties', partnerId)
    expect(isThere('mappings', page, hotel('H-9'), asked)).toBe(true)
    expect(isThere('mappings', page, hotel('H-2'), asked)).toBe(false)
  })

  it.each([
    [[]],
    [['text']],
    [[{ fields: [] }]],
    [[{ fields: { [ids.property]: 'one' } }]],
    [[{ fields: { [ids.property]: [1] } }]],
  ])('a page such as %j is read as empty, or says nothing at all', (documents) => {
    const read = kindOf('property_values').read(documents)
    expect(documents.length === 0 ? read?.size : read).toBe(documents.length === 0 ? 0 : null)
  })
})

describe('standards that are held', () => {
  const held = (over: object) =>
    row(
      { standard_id: ids.standard, level: 'Gold', start_date: '2025-01-01', expiry_date: null, ...over },
      'standard_holders',
    )
  const page = [{ standardId: ids.standard.toUpperCase(), level: 'Gold', startDate: '2025-01-01T00:00:00Z' }]

  it('one is there with its level and its days', () => {
    expect(isThere('standard_holders', page, held({}))).toBe(true)
    expect(isThere('standard_holders', page, held({ level: 'Silver' }))).toBe(false)
    expect(isThere('standard_holders', page, held({ expiry_date: '2026-01-01' }))).toBe(false)
    expect(isThere('standard_holders', page, held({ standard_id: null }))).toBeNull()
  })

  it('a standard whose level or days are null is held without them', () => {
    const [whole] = page
    expect(isThere('standard_holders', [{ ...whole, expiryDate: null }], held({}))).toBe(true)
    const bare = { ...whole, level: null, startDate: null, expiryDate: null }
    expect(isThere('standard_holders', [bare], held({ level: null, start_date: null }))).toBe(true)
  })

  it('a page that is laid out otherwise says nothing at all', () => {
    expect(kindOf('standard_holders').read([{ level: 'Gold' }])).toBeNull()
    expect(kindOf('standard_holders').read([{ standardId: ids.standard, level: 3 }])).toBeNull()
  })
})

test.each<[ComparedKind['name'], object, RegExp | null]>([
  ['answers', {}, null],
  ['answers', { customPropertyIds: [ids.property] }, null],
  ['answers', { frameworkIds: [ids.framework] }, /selects frameworks/],
  ['answers', { changedSince: '2026-01-01' }, /has changedSince, which may select/],
  ['property_values', { customPropertyIds: [ids.property] }, null],
  ['property_values', {}, /asks for no custom property/],
  ['property_values', { customPropertyIds: [ids.property], top: 5 }, /has top, which may select/],
  ['mappings', { customPropertyIds: [ids.identifier] }, null],
  ['mappings', { customPropertyIds: [ids.property] }, /does not ask for the identifier/],
  ['mappings', { customPropertyIds: [ids.identifier], top: 5 }, /has top, which may select/],
  ['standard_holders', {}, null],
  ['standard_holders', { standardIds: [ids.standard] }, /selects standards/],
  ['standard_holders', { top: 5 }, /has top, which may select/],
])('whether a search for %s with the body %j proves what is absent: %s', (name, body, why) => {
  const said = kindOf(name).leavesOut(body as Record<string, unknown>)
  if (why === null) expect(said).toBeNull()
  else expect(said).toMatch(why)
})
