import type { Contract } from '../../../exchange/contract.ts'
import { doubledKey } from '../../reading/element-assembler.ts'
import {
  contentProblem,
  excerptOf,
  fieldOf,
  idProblem,
  isObject,
  textProblem,
  uuidOf,
} from '../../reading/page-text.ts'
import { type LeftOut, type PageCalculator, pageCalculator } from './page-calculator.ts'

type PageProperty = { propertyId: string /** From 1. */; ordinal: number; value: string }

/** One company of a page, decoded. */
export type PageCompany = {
  companyId: string
  /** Null where the page gives none that can be read: the name that stands stays. */
  name: string | null
  /** Why the page gives no name, as a stable code. */
  nameProblem: string | null
  /** False: only the id can be trusted, and what stands here of the company stays, whole. */
  readable: boolean
  /** False: some calculator could not be identified, so that absence of another proves nothing. */
  complete: boolean
  properties: PageProperty[]
  /** What of its properties the page does not show as absent, although it gives no value that can be read. */
  unrenewedProperties: UnrenewedProperty[]
  calculators: PageCalculator[]
}

/** A list of values of which one at least cannot be right: what is known of the property stays, whole. */
type UnrenewedProperty = {
  /** Null: any property. */
  propertyId: string | null
  /** A stable code. */
  reason: string
  /** The field, where it was not left out because that matters only to a company which has such values here. */
  field: string | null
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
    company: {
      companyId,
      name: null,
      nameProblem: reason,
      readable: false,
      complete: false,
      properties: [],
      unrenewedProperties: [],
      calculators: [],
    },
    leftOut: [whole(companyId, item, reason, value)],
  })
  const calculators = fieldOf(element, names.calculators)
  if (!Array.isArray(calculators)) return unreadable(names.calculators, listProblem(calculators), calculators)
  const givenFields = fieldOf(element, names.fields)
  const fields = givenFields ?? {}
  if (!isObject(fields)) return unreadable(names.fields, fields === doubledKey ? 'key_twice' : 'no_object', fields)

  const name = fieldOf(element, names.name)
  const nameProblem = contentProblem(name) ?? null
  if (nameProblem !== null) {
    leftOut.push({ ...whole(companyId, names.name, nameProblem, name), unit: 'value' })
  }
  const unrenewedProperties: UnrenewedProperty[] = []
  // Without values the fields are absent. Null brings none either, but it proves none of those that are known absent.
  if (givenFields === null) unrenewedProperties.push({ propertyId: null, reason: 'no_object', field: names.fields })
  const properties = pageProperties(companyId, fields, leftOut, unrenewedProperties)
  const decoded = calculators.map((calculator) => pageCalculator(companyId, calculator, contract, leftOut))
  return {
    company: {
      companyId,
      name: nameProblem === null ? String(name) : null,
      nameProblem,
      readable: true,
      complete: decoded.every((calculator) => calculator !== undefined),
      properties,
      unrenewedProperties,
      calculators: decoded.filter((calculator) => calculator !== undefined),
    },
    leftOut,
  }
}

function pageProperties(
  companyId: string,
  fields: Record<string, unknown>,
  leftOut: LeftOut[],
  unrenewed: UnrenewedProperty[],
): PageProperty[] {
  const properties: PageProperty[] = []
  const refuse = (propertyId: string | null, item: string, reason: string, value: unknown): void => {
    leftOut.push({ unit: 'property', companyId, calculatorId: null, item, reason, excerpt: excerptOf(value) })
    unrenewed.push({ propertyId, reason, field: null })
  }
  for (const [propertyId, values] of Object.entries(fields)) {
    const badId = idProblem(propertyId)
    // Under an id that is none may be any property.
    if (badId !== undefined) refuse(null, excerptOf(propertyId), badId, values)
    else if (!Array.isArray(values)) refuse(propertyId, propertyId, listProblem(values), values)
    else {
      for (const [index, value] of values.entries()) {
        const problem = contentProblem(value)
        if (problem === undefined) properties.push({ propertyId, ordinal: index + 1, value: String(value) })
        else refuse(propertyId, propertyId, problem, value)
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
