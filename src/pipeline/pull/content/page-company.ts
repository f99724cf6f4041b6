import type { Contract } from '../../../exchange/contract.ts'
import { doubledKey } from '../reading/element-assembler.ts'
import type { LeftOut } from './left-out.ts'
import { type PageCalculator, pageCalculator } from './page-calculator.ts'
import { fieldOf, isObject } from './page-object.ts'
import { excerptOf, idProblem, textProblem, uuidOf } from './page-text.ts'

export type PageProperty = { propertyId: string /** From 1. */; ordinal: number; value: string }

/** One company of a page, decoded. */
export type PageCompany = {
  companyId: string
  /** Null where the page gives none that can be read: the name that stands stays. */
  name: string | null
  /** False: only the id can be trusted, and what stands here of the company stays, whole. */
  readable: boolean
  /** False: some calculator could not be identified, so that absence of another proves nothing. */
  complete: boolean
  properties: PageProperty[]
  calculators: PageCalculator[]
}

export type DecodedCompany = { company: PageCompany | undefined; leftOut: LeftOut[] }

/**
 * Decodes one element of the page's companies. Pure. See "Calculator search result page" in the specification.
 *
 * What cannot be right is left out with its reason, at the smallest unit that stands by itself: a value or a property
 * value alone; a calculator whose id, type or period is wrong; the company where its lists are no lists.
 * Nothing is repaired: a value is the string of the page or it is not there.
 */
export function pageCompany(element: unknown, contract: Contract): DecodedCompany {
  const names = contract.names.calculatorsPage
  const leftOut: LeftOut[] = []
  if (!isObject(element)) return { company: undefined, leftOut: [whole(null, null, 'no_object', element)] }

  const given = fieldOf(element, names.id)
  const companyId = uuidOf(given)
  if (companyId === undefined) {
    const reason = textProblem(given) ?? 'id_no_uuid'
    return { company: undefined, leftOut: [whole(null, names.id, reason, given)] }
  }

  const unreadable = (item: string, reason: string, value: unknown): DecodedCompany => ({
    company: { companyId, name: null, readable: false, complete: false, properties: [], calculators: [] },
    leftOut: [whole(companyId, item, reason, value)],
  })
  const calculators = fieldOf(element, names.calculators)
  if (!Array.isArray(calculators)) return unreadable(names.calculators, listProblem(calculators), calculators)
  const fields = fieldOf(element, names.fields) ?? {}
  if (!isObject(fields)) return unreadable(names.fields, fields === doubledKey ? 'key_twice' : 'no_object', fields)

  const name = fieldOf(element, names.name)
  const nameProblem = textProblem(name)
  if (nameProblem !== undefined) {
    leftOut.push({ ...whole(companyId, names.name, nameProblem, name), unit: 'value' })
  }
  const properties = pageProperties(companyId, fields, leftOut)
  const decoded = calculators.map((calculator) => pageCalculator(companyId, calculator, contract, leftOut))
  return {
    company: {
      companyId,
      name: nameProblem === undefined ? String(name) : null,
      readable: true,
      complete: decoded.every((calculator) => calculator !== undefined),
      properties,
      calculators: decoded.filter((calculator) => calculator !== undefined),
    },
    leftOut,
  }
}

function pageProperties(companyId: string, fields: Record<string, unknown>, leftOut: LeftOut[]): PageProperty[] {
  const properties: PageProperty[] = []
  const refuse = (item: string, reason: string, value: unknown): void => {
    leftOut.push({ unit: 'property', companyId, calculatorId: null, item, reason, excerpt: excerptOf(value) })
  }
  for (const [propertyId, values] of Object.entries(fields)) {
    const badId = idProblem(propertyId)
    if (badId !== undefined) refuse(excerptOf(propertyId), badId, values)
    else if (!Array.isArray(values)) refuse(propertyId, listProblem(values), values)
    else {
      for (const [index, value] of values.entries()) {
        const problem = textProblem(value)
        if (problem === undefined) properties.push({ propertyId, ordinal: index + 1, value: String(value) })
        else refuse(propertyId, problem, value)
      }
    }
  }
  return properties
}

function whole(companyId: string | null, item: string | null, reason: string, value: unknown): LeftOut {
  return { unit: 'company', companyId, calculatorId: null, item, reason, excerpt: excerptOf(value) }
}

function listProblem(value: unknown): string {
  if (value === undefined) return 'missing'
  return value === doubledKey ? 'key_twice' : 'no_array'
}
