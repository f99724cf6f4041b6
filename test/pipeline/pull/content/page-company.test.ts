import { describe, expect, it } from 'vitest'
import { pageCompany } from '../../../../src/pipeline/pull/page-company.ts'
import { pageName } from '../../../../src/pipeline/pull/stage-page.ts'
import { doubledKey } from '../../../../src/pipeline/reading/element-assembler.ts'
import { calculator, company, contract, uuid } from '../sample-page.ts'

const decode = (element: unknown) => pageCompany(element, contract)
const withCalculator = (over: Record<string, unknown>) =>
  decode({ ...company('Aske'), calculators: [{ ...calculator('k'), ...over }] })

describe('pageCompany', () => {
  it('decodes a company with everything that the specification names', () => {
    const given = company('Aske', {
      fields: { brand: ['A', 'B'] },
      calculators: [calculator('monthly'), calculator('yearly', { period: { year: 2024 } })],
    })
    const { company: decoded, leftOut } = decode(given)
    expect(leftOut).toEqual([])
    expect(decoded?.properties).toEqual([
      { propertyId: 'brand', ordinal: 1, value: 'A' },
      { propertyId: 'brand', ordinal: 2, value: 'B' },
    ])
    expect(decoded?.calculators.map(({ content }) => [content?.year, content?.month])).toEqual([
      [2025, 3],
      [2024, null],
    ])
    expect(decoded?.calculators[0]?.content?.values).toEqual([
      { direction: 'i', variableId: 'electricity', value: '1234.50' },
      { direction: 'o', variableId: 'total', value: '0.25' },
    ])
  })

  it('ignores fields that it does not know', () => {
    expect(decode({ ...company('Aske'), rating: { stars: 5 } })).toEqual(decode(company('Aske')))
  })

  it.each([
    ['null', null, 'no_object'],
    ['an array', [], 'no_object'],
    ['a text', 'Aske', 'no_object'],
    ['no id', { name: 'Aske', calculators: [] }, 'missing'],
    ['an id that is no UUID', { ...company('Aske'), id: 'H-0001' }, 'id_no_uuid'],
    ['an id in braces', { ...company('Aske'), id: `{${uuid('Aske')}}` }, 'id_no_uuid'],
    ['an id that is a number', { ...company('Aske'), id: 7 }, 'no_text'],
  ])('does not guess which company it is: %s', (_name, element, reason) => {
    const { company: decoded, leftOut } = decode(element)
    expect(decoded).toBeUndefined()
    expect(leftOut).toMatchObject([{ unit: 'company', companyId: null, reason }])
  })

  it.each([
    ['calculators missing', { calculators: undefined }, 'missing'],
    ['calculators of null', { calculators: null }, 'no_array'],
    ['calculators as an object', { calculators: {} }, 'no_array'],
    ['fields as an array', { fields: ['A'] }, 'no_object'],
    ['fields given twice', { fields: doubledKey }, 'key_twice'],
  ])('leaves the company as it stands: %s', (_name, over, reason) => {
    const { company: decoded, leftOut } = decode({ ...company('Aske'), ...over })
    expect(decoded).toMatchObject({ companyId: uuid('Aske'), readable: false, complete: false, calculators: [] })
    expect(leftOut).toMatchObject([{ unit: 'company', companyId: uuid('Aske'), reason }])
  })

  it('a year counts as one also where it is a text', () => {
    const { company: decoded, leftOut } = withCalculator({ period: { year: '2025', month: 'March' } })
    expect(decoded).toMatchObject({ calculators: [{ content: { year: 2025, month: 3 } }] })
    expect(leftOut).toEqual([])
  })

  it.each([
    ['no period', { period: undefined }, 'period_missing'],
    ['a period of null', { period: null }, 'period_missing'],
    ['a period that is a text', { period: '2025' }, 'no_object'],
    ['a period without a year', { period: { month: 'March' } }, 'year_invalid'],
    ['a year in words', { period: { year: 'MMXXV' } }, 'year_invalid'],
    ['half a year as a text', { period: { year: '2025.5' } }, 'year_invalid'],
    ['the year 0 as a text', { period: { year: '0' } }, 'year_invalid'],
    ['half a year', { period: { year: 2025.5 } }, 'year_invalid'],
    ['the year 99999', { period: { year: 99_999 } }, 'year_invalid'],
    ['a misspelt month', { period: { year: 2025, month: 'Febuary' } }, 'month_unknown'],
    ['a short month', { period: { year: 2025, month: 'Mar' } }, 'month_unknown'],
    ['a month as a number', { period: { year: 2025, month: 3 } }, 'month_unknown'],
    ['an empty month', { period: { year: 2025, month: '' } }, 'month_unknown'],
    ['a month that objects inherit', { period: { year: 2025, month: 'constructor' } }, 'month_unknown'],
    ['a type that is no UUID', { typeId: 'carbon' }, 'id_no_uuid'],
    ['no type', { typeId: undefined }, 'missing'],
    ['inputs as an array', { inputs: ['1'] }, 'no_object'],
    ['outputs as a text', { outputs: '1' }, 'no_object'],
    ['outputs given twice', { outputs: doubledKey }, 'key_twice'],
  ])('leaves the calculator as it stands: %s', (_name, over, reason) => {
    const { company: decoded, leftOut } = withCalculator(over)
    expect(decoded).toMatchObject({
      readable: true,
      complete: true,
      calculators: [{ calculatorId: uuid('k'), content: null }],
    })
    expect(leftOut).toMatchObject([{ unit: 'calculator', calculatorId: uuid('k'), reason }])
  })

  it('knows that a company is not complete when one of its calculators cannot be identified', () => {
    const { company: decoded, leftOut } = withCalculator({ id: 'k-1' })
    expect(decoded).toMatchObject({ readable: true, complete: false, calculators: [] })
    expect(leftOut).toMatchObject([{ unit: 'calculator', calculatorId: null, reason: 'id_no_uuid' }])
  })

  it.each([
    ['a number', 12.5, 'no_text'],
    ['true', true, 'no_text'],
    ['null', null, 'no_text'],
    ['an object', {}, 'no_text'],
    ['a NUL', 'a\u0000b', 'nul_character'],
    ['a lone surrogate', 'a\ud800b', 'lone_surrogate'],
    ['two values of one key', doubledKey, 'key_twice'],
  ])('leaves out the value and nothing else: %s', (_name, value, reason) => {
    const { company: decoded, leftOut } = withCalculator({ inputs: { bad: value, good: '1' } })
    expect(decoded?.calculators[0]?.content?.values.map(({ variableId }) => variableId)).toEqual(['good', 'total'])
    expect(leftOut).toMatchObject([{ unit: 'value', item: 'bad', reason, calculatorId: uuid('k') }])
  })

  it('leaves out a property value and keeps the position of the others', () => {
    const { company: decoded, leftOut } = decode({ ...company('Aske'), fields: { brand: ['A', 5, 'C'], rooms: 'x' } })
    expect(decoded?.properties).toEqual([
      { propertyId: 'brand', ordinal: 1, value: 'A' },
      { propertyId: 'brand', ordinal: 3, value: 'C' },
    ])
    expect(leftOut).toMatchObject([
      { unit: 'property', item: 'brand', reason: 'no_text', excerpt: '5' },
      { unit: 'property', item: 'rooms', reason: 'no_array' },
    ])
  })

  it('leaves out a variable id that no index could hold', () => {
    const { leftOut } = withCalculator({ inputs: { ['v'.repeat(3_000)]: '1' } })
    expect(leftOut).toMatchObject([{ unit: 'value', reason: 'id_too_long' }])
    expect(leftOut[0]?.item?.length).toBeLessThanOrEqual(200)
  })

  it('keeps a company whose name cannot be read', () => {
    const { company: decoded, leftOut } = decode({ ...company('Aske'), name: 5 })
    expect(decoded).toMatchObject({ name: null, readable: true })
    expect(leftOut).toMatchObject([{ unit: 'value', item: 'name', reason: 'no_text', excerpt: '5' }])
  })

  it('shows what it left out in a form that can always be stored', () => {
    const { leftOut } = withCalculator({ inputs: { bad: `\u0000${'😀'.repeat(500)}` } })
    expect(leftOut[0]?.excerpt).toMatch(/^"\\u0000/)
    expect(leftOut[0]?.excerpt.length).toBeLessThanOrEqual(200)
    expect(leftOut[0]?.excerpt.isWellFormed()).toBe(true)
  })
})

describe('pageName', () => {
  it.each([
    [null, 'no_object'],
    [{ name: 'A' }, 'missing'],
    [{ id: '', name: 'A' }, 'missing'],
    [{ id: 7, name: 'A' }, 'no_text'],
  ])('leaves out %j', (element, reason) => {
    expect(pageName('variable_name', element, contract)).toMatchObject({
      listed: null,
      leftOut: { unit: 'variable_name', reason },
    })
  })

  it.each([
    [{ id: 'a' }, 'missing'],
    [{ id: 'a', name: '' }, 'blank'],
    [{ id: 'a', name: null }, 'no_text'],
  ])('lists %j without its name', (element, reason) => {
    expect(pageName('variable_name', element, contract)).toMatchObject({
      listed: { id: 'a', name: null },
      leftOut: { unit: 'variable_name', item: 'a', reason },
    })
  })
})
