import type { QuarantineUnit } from '../../db/tables/calculator-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { integerOf, monthNumber, uuidOf } from '../../exchange/wire-value.ts'
import { doubledKey } from '../reading/element-assembler.ts'
import { contentProblem, excerptOf, fieldOf, idProblem, isObject, textProblem } from '../reading/page-text.ts'

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
  if (companyId === null) {
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

type PageValue = { direction: 'i' | 'o'; variableId: string; value: string }

/** What of a calculator's inputs or outputs the page does not show as absent, although it gives no value for it. */
type UnrenewedValues = {
  direction: 'i' | 'o'
  /** Null: none of them. */
  variableId: string | null
  /** A stable code. */
  reason: string
  /** The field, where it was not left out because that matters only to a calculator which has such values here. */
  field: string | null
}

/** One calculator of a page, decoded. */
type PageCalculator = {
  calculatorId: string
  /** Null: the calculator cannot be read but for its id, and what stands here of it stays, whole. */
  content: CalculatorContent | null
}

type CalculatorContent = {
  typeId: string
  /** Null where the page gives none that can be read: the title that stands stays. */
  title: string | null
  /** Why the page gives no title, as a stable code. */
  titleProblem: string | null
  year: number
  /** 1 to 12; null on a yearly calculator. */
  month: number | null
  /** The field of the period, where its month is null: no month is known by that, and one that is known is not gone. */
  monthNull: string | null
  values: PageValue[]
  unrenewed: UnrenewedValues[]
}

/**
 * Decodes one calculator of a company; what is left out is added to `leftOut`.
 * @returns undefined if the calculator cannot be identified.
 */
function pageCalculator(
  companyId: string,
  element: unknown,
  contract: Contract,
  leftOut: LeftOut[],
): PageCalculator | undefined {
  const names = contract.names.calculatorsPage
  const refuse = (calculatorId: string | null, item: string | null, reason: string, value: unknown): void => {
    leftOut.push({ unit: 'calculator', companyId, calculatorId, item, reason, excerpt: excerptOf(value) })
  }
  if (!isObject(element)) {
    refuse(null, null, 'no_object', element)
    return undefined
  }
  const given = fieldOf(element, names.id)
  const calculatorId = uuidOf(given)
  if (calculatorId === null) {
    refuse(null, names.id, textProblem(given) ?? 'id_no_uuid', given)
    return undefined
  }

  const unreadable = (item: string, reason: string, value: unknown): PageCalculator => {
    refuse(calculatorId, item, reason, value)
    return { calculatorId, content: null }
  }
  const typeId = uuidOf(fieldOf(element, names.typeId))
  if (typeId === null) {
    const value = fieldOf(element, names.typeId)
    return unreadable(names.typeId, textProblem(value) ?? 'id_no_uuid', value)
  }
  const period = pagePeriod(fieldOf(element, names.period), contract)
  if (typeof period === 'string') return unreadable(names.period, period, fieldOf(element, names.period))
  const groups = { i: fieldOf(element, names.inputs), o: fieldOf(element, names.outputs) }
  const unrenewed: UnrenewedValues[] = []
  // Without values a group is absent. One of null brings none either, but it proves none of those that are known
  // absent.
  if (groups.i === null) unrenewed.push({ direction: 'i', variableId: null, reason: 'no_object', field: names.inputs })
  if (groups.o === null) unrenewed.push({ direction: 'o', variableId: null, reason: 'no_object', field: names.outputs })
  const inputs = groups.i ?? {}
  const outputs = groups.o ?? {}
  if (!isObject(inputs)) return unreadable(names.inputs, objectProblem(inputs), inputs)
  if (!isObject(outputs)) return unreadable(names.outputs, objectProblem(outputs), outputs)

  const title = fieldOf(element, names.title)
  const titleProblem = contentProblem(title) ?? null
  const refuseValue = (item: string, reason: string, value: unknown): void => {
    leftOut.push({ unit: 'value', companyId, calculatorId, item, reason, excerpt: excerptOf(value) })
  }
  if (titleProblem !== null) refuseValue(names.title, titleProblem, title)
  const values = [
    ...pageValues('i', inputs, refuseValue, unrenewed),
    ...pageValues('o', outputs, refuseValue, unrenewed),
  ]
  return {
    calculatorId,
    content: {
      typeId,
      title: titleProblem === null ? String(title) : null,
      titleProblem,
      ...period,
      values,
      unrenewed,
    },
  }
}

type Refuse = (item: string, reason: string, value: unknown) => void

function pageValues(
  direction: 'i' | 'o',
  group: Record<string, unknown>,
  refuse: Refuse,
  unrenewed: UnrenewedValues[],
): PageValue[] {
  const values: PageValue[] = []
  for (const [variableId, value] of Object.entries(group)) {
    const badId = idProblem(variableId)
    const problem = badId ?? contentProblem(value)
    if (problem === undefined) values.push({ direction, variableId, value: String(value) })
    else {
      refuse(badId === undefined ? variableId : excerptOf(variableId), problem, value)
      // Under an id that is none may be any variable.
      unrenewed.push({ direction, variableId: badId === undefined ? variableId : null, reason: problem, field: null })
    }
  }
  return values
}

type Period = Pick<CalculatorContent, 'year' | 'month' | 'monthNull'>

/** The period, or why it is none. A month of null counts as absent, unless the calculator is known to have one. */
function pagePeriod(value: unknown, contract: Contract): Period | string {
  const names = contract.names.calculatorsPage
  if (value === undefined || value === null) return 'period_missing'
  if (!isObject(value)) return objectProblem(value)
  const year = integerOf(fieldOf(value, names.year))
  if (year === null || year < 1 || year > 9_999) return 'year_invalid'
  const given = fieldOf(value, names.month)
  if (given === undefined || given === null) {
    return { year, month: null, monthNull: given === null ? names.period : null }
  }
  const month = typeof given === 'string' ? monthNumber(given) : undefined
  return month === undefined ? 'month_unknown' : { year, month, monthNull: null }
}

function objectProblem(value: unknown): string {
  return value === doubledKey ? 'key_twice' : 'no_object'
}

/** One thing that was left out of a page because its content cannot be right. */
export type LeftOut = {
  unit: QuarantineUnit
  companyId: string | null
  calculatorId: string | null
  /** The field, the variable id or the property id that holds it. */
  item: string | null
  /** A stable code. */
  reason: string
  excerpt: string
}
