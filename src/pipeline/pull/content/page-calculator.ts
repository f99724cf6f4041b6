import type { QuarantineUnit } from '../../../db/tables/calculator-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { integerOf, monthNumber } from '../../../exchange/wire-value.ts'
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
export type PageCalculator = {
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
export function pageCalculator(
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
  if (calculatorId === undefined) {
    refuse(null, names.id, textProblem(given) ?? 'id_no_uuid', given)
    return undefined
  }

  const unreadable = (item: string, reason: string, value: unknown): PageCalculator => {
    refuse(calculatorId, item, reason, value)
    return { calculatorId, content: null }
  }
  const typeId = uuidOf(fieldOf(element, names.typeId))
  if (typeId === undefined) {
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
