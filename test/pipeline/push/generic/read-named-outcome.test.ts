import { describe, expect, it } from 'vitest'
import type { ResultFileNames } from '../../../../src/exchange/generic-kinds.ts'
import { namedOutcome } from '../../../../src/pipeline/push/kinds.ts'

const names: ResultFileNames = {
  list: 'items',
  id: 'key',
  status: 'state',
  accepted: ['Done', true],
  rejected: null,
  reason: 'why',
  companyId: 'company',
}
const strict = { ...names, rejected: ['Refused', false] }

describe('an element of a result file, by the names of the contract', () => {
  it.each<[ResultFileNames, unknown, boolean | null, string | null]>([
    [names, 'Done', true, null],
    [names, true, true, null],
    [names, 'done', false, 'done'],
    [names, false, false, 'false'],
    [names, '', null, null],
    [names, undefined, null, null],
    [names, 7, null, '7'],
    [strict, 'Done', true, null],
    [strict, 'Refused', false, 'Refused'],
    [strict, false, false, 'false'],
    [strict, 'Postponed', null, 'Postponed'],
  ])('an element with %j says of the status %j: %j', (known, state, accepted, code) => {
    expect(namedOutcome(known, { key: 'H-1', state })).toEqual({
      partnerId: 'H-1',
      accepted,
      companyId: null,
      code,
      reason: null,
      fieldErrors: [],
    })
  })

  it('keeps the reason in the words of the service, whatever its form', () => {
    const reason = (why: unknown) => namedOutcome(names, { key: 'H-1', state: 'No', why })?.reason
    expect(reason('Not known.')).toBe('Not known.')
    expect(reason([{ field: 'a', text: 'b' }])).toBe('[{"field":"a","text":"b"}]')
    expect(reason(null)).toBeNull()
  })

  it('takes the company id along, and goes by it alone where the property is not named', () => {
    const company = '00000000-0000-4000-8000-000000000009'
    expect(namedOutcome(names, { state: 'Done', company })).toMatchObject({ partnerId: null, companyId: company })
    expect(namedOutcome(names, { key: 'H-1', state: 'Done', company })?.companyId).toBe(company)
  })

  it.each([null, 'H-1', 7, {}, { key: 7.5 }, { key: '' }, { key: 'x'.repeat(256) }, []])(
    'keeps %j, which names nobody, as it came',
    (element) => {
      expect(namedOutcome(names, element)).toMatchObject({
        partnerId: null,
        companyId: null,
        reason: (JSON.stringify(element) ?? '').slice(0, 500),
      })
    },
  )

  it('takes a whole number for the id that a kind sends as one', () => {
    expect(namedOutcome(names, { key: 1001, state: 'Done' })).toMatchObject({ partnerId: '1001', accepted: true })
  })

  it('reads no member that the element has only by inheritance', () => {
    expect(namedOutcome({ ...names, id: 'constructor' }, { state: 'Done' }).partnerId).toBeNull()
    expect(namedOutcome({ ...names, id: '__proto__' }, JSON.parse('{"__proto__":"H-1","state":"Done"}'))).toMatchObject(
      {
        partnerId: 'H-1',
      },
    )
  })
})
