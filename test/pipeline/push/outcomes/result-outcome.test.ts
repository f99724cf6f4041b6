import { describe, expect, it } from 'vitest'
import { calculatorOutcome, mappingOutcome } from '../../../../src/pipeline/push/outcomes/result-outcome.ts'
import { contract } from '../../../exchange/test-client.ts'
import { ids } from '../rows.ts'

describe("a mapping's element", () => {
  it("a mapping's element is accepted when it is mapped to a company", () => {
    expect(mappingOutcome(contract, { id: 'H-1', status: 'Mapped', companyId: ids.company, more: {} })).toEqual({
      partnerId: 'H-1',
      accepted: true,
      companyId: ids.company,
      code: null,
      reason: null,
      fieldErrors: [],
    })
  })

  it("a mapping's element is rejected, with the reason as it came, when nothing was found", () => {
    expect(mappingOutcome(contract, { id: 'H-1', status: 'NotFound', reason: 'No company.' })).toEqual({
      partnerId: 'H-1',
      accepted: false,
      companyId: null,
      code: 'NotFound',
      reason: 'No company.',
      fieldErrors: [],
    })
  })

  it.each([
    [{ id: 'H-1', status: 'Mapped' }, 'Mapped'],
    [{ id: 'H-1', status: 'Mapped', companyId: 'none' }, 'Mapped'],
    [{ id: 'H-1', status: 'mapped', companyId: ids.company }, 'mapped'],
    [{ id: 'H-1', status: 'Ambiguous', companyId: ids.company }, 'Ambiguous'],
    [{ id: 'H-1' }, null],
  ])("a mapping's element is neither accepted nor rejected: %j", (element, code) => {
    expect(mappingOutcome(contract, element)).toMatchObject({ partnerId: 'H-1', accepted: null, companyId: null, code })
  })

  it.each([[null], ['H-1'], [[]], [{ status: 'Mapped', companyId: 'none' }], [{ id: '', status: 'Mapped' }]])(
    'names nobody, and is kept as it came: %j',
    (element) => {
      const nobody = { partnerId: null, companyId: null, accepted: null, code: null }
      expect(mappingOutcome(contract, element)).toMatchObject({ ...nobody, reason: JSON.stringify(element) })
    },
  )

  it('names its company where it names no property, in small letters', () => {
    const element = { status: 'Mapped', companyId: ids.company.toUpperCase() }
    expect(mappingOutcome(contract, element)).toMatchObject({ partnerId: null, accepted: true, companyId: ids.company })
  })

  it("a mapping's element that names nobody is kept only as far as a person looks", () => {
    expect(mappingOutcome(contract, { odd: 'x'.repeat(10_000) }).reason).toHaveLength(500)
  })
})

describe('an id in a result file', () => {
  const mapped = (fields: object) => mappingOutcome(contract, { status: 'Mapped', ...fields })

  it('an id of a row of ours has 255 characters at most: a longer one was never sent', () => {
    const company = { companyId: ids.company }
    expect(mapped({ id: 'x'.repeat(255), ...company }).partnerId).toBe('x'.repeat(255))
    expect(mapped({ id: 'x'.repeat(256), ...company }).partnerId).toBeNull()
    expect(mapped({ id: 7, ...company }).partnerId).toBe('7')
    expect(mapped({ id: 7.5, ...company }).partnerId).toBeNull()
    expect(mapped({ id: '', ...company }).partnerId).toBeNull()
  })

  it('an id of a company is a UUID and nothing before or behind it, in small letters', () => {
    expect(mapped({ id: 'H-1', companyId: 'ABCDEF01-0000-4000-8000-00000000000F' }).companyId).toBe(
      'abcdef01-0000-4000-8000-00000000000f',
    )
    expect(mapped({ id: 'H-1', companyId: `x${ids.company}` }).companyId).toBeNull()
    expect(mapped({ id: 'H-1', companyId: `${ids.company}x` }).companyId).toBeNull()
    expect(mapped({ id: 'H-1', companyId: null })).toMatchObject({
      accepted: null,
      reason: 'mapped, but to no company id',
    })
  })

  it('an id of a company beside another status is no match for a row, and names one where no property is named', () => {
    const notFound = { status: 'NotFound', companyId: ids.company }
    expect(mappingOutcome(contract, { id: 'H-1', ...notFound }).companyId).toBeNull()
    expect(mappingOutcome(contract, notFound)).toMatchObject({ partnerId: null, companyId: ids.company })
  })

  it('a reason that JSON cannot write down leaves no reason', () => {
    expect(mappingOutcome(contract, undefined)).toEqual({
      partnerId: null,
      accepted: null,
      companyId: null,
      code: null,
      reason: '',
      fieldErrors: [],
    })
  })
})

describe("a calculator upsert's element", () => {
  it("a calculator upsert's element is accepted when it succeeded without errors", () => {
    expect(calculatorOutcome(contract, { identifier: 'H-1', companyId: ids.company, status: 'Success' })).toEqual({
      partnerId: 'H-1',
      accepted: true,
      companyId: ids.company,
      code: null,
      reason: null,
      fieldErrors: [],
    })
  })

  it("a calculator upsert's element is rejected with every reason when it failed", () => {
    const errors = [{ fieldTypeId: ids.field, reason: 'Negative' }, { reason: 'No period' }]
    expect(calculatorOutcome(contract, { identifier: 'H-1', status: 'Failed', errors })).toMatchObject({
      accepted: false,
      code: 'Failed',
      reason: `${ids.field}: Negative; No period`,
    })
  })

  it("a calculator upsert's element is rejected when it names errors, whatever its status says", () => {
    for (const status of ['Success', 'Almost']) {
      const element = { identifier: 'H-1', status, errors: [{ reason: 'Negative' }] }
      expect(calculatorOutcome(contract, element)).toMatchObject({ accepted: false, code: status, reason: 'Negative' })
    }
  })

  it.each<[unknown, string]>([
    [{ fieldTypeId: ids.field, reason: 'value_negative' }, `${ids.field}: value_negative`],
    ['value_negative', 'value_negative'],
    [['value_negative'], 'value_negative'],
    [{ anything: 1 }, 'no reason given'],
  ])("a calculator upsert's element is rejected when its errors are %j", (errors, reason) => {
    const element = { identifier: 'H-1', status: 'Success', errors }
    expect(calculatorOutcome(contract, element)).toMatchObject({ accepted: false, code: 'Success', reason })
  })

  it.each([null, '', false, {}, []])("a calculator upsert's element is accepted when its errors are %j", (errors) => {
    expect(calculatorOutcome(contract, { identifier: 'H-1', status: 'Success', errors })).toMatchObject({
      accepted: true,
      reason: null,
    })
  })

  it("a calculator upsert's element is neither accepted nor rejected with a status that the contract does not name", () => {
    expect(calculatorOutcome(contract, { identifier: 'H-1', status: 'Queued', errors: [] })).toMatchObject({
      accepted: null,
      code: 'Queued',
    })
    expect(calculatorOutcome(contract, { identifier: 'H-1' })).toMatchObject({ accepted: null, code: null })
  })

  it("a calculator upsert's element is named by its company where it has no identifier", () => {
    expect(calculatorOutcome(contract, { companyId: ids.company, status: 'Success' })).toMatchObject({
      partnerId: null,
      accepted: true,
      companyId: ids.company,
    })
  })

  it('lists the errors of its fields one by one', () => {
    const errors = [{ fieldTypeId: ids.field, reason: 'Negative' }, { reason: 'No period' }, { fieldTypeId: ids.field }]
    expect(calculatorOutcome(contract, { identifier: 'H-1', status: 'Failed', errors }).fieldErrors).toEqual([
      { field: ids.field, reason: 'Negative' },
      { field: null, reason: 'No period' },
      { field: ids.field, reason: 'no reason given' },
    ])
  })

  it('names a company by its id alone, or a property of ours by its own, and is kept whole where it names neither', () => {
    const named = { identifier: 'H-1', status: 'Success' }
    expect(calculatorOutcome(contract, named)).toMatchObject({ partnerId: 'H-1', companyId: null, accepted: true })
    const element = { status: 'Failed', errors: [{ reason: 'Negative' }] }
    expect(calculatorOutcome(contract, element)).toEqual({
      partnerId: null,
      accepted: null,
      companyId: null,
      code: null,
      reason: JSON.stringify(element),
      fieldErrors: [],
    })
  })

  it('an element whose list of errors holds nothing that can be read is rejected without a reason', () => {
    expect(calculatorOutcome(contract, { identifier: 'H-1', status: 'Success', errors: [null] })).toMatchObject({
      accepted: false,
      fieldErrors: [{ field: null, reason: 'no reason given' }],
    })
  })

  it('names nobody without an identifier or a company', () => {
    expect(calculatorOutcome(contract, { companyId: 'none', status: 'Success' })).toMatchObject({
      partnerId: null,
      accepted: null,
    })
  })
})
