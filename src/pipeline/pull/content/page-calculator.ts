import type { Contract } from '../../../exchange/contract.ts'
import { monthNumber } from '../../../exchange/month-names.ts'
import { doubledKey } from '../reading/element-assembler.ts'
import type { LeftOut } from './left-out.ts'
import { fieldOf, isObject } from './page-object.ts'
import { excerptOf, idProblem, textProblem, uuidOf } from './page-text.ts'

export type PageValue = { direction: 'i' | 'o'; variableId: string; value: string }

/** One calculator of a page, decoded. */
export type PageCalculator = {
  calculatorId: string
  /** Null: the calculator cannot be read but for its id, and what stands here of it stays, whole. */
  content: CalculatorContent | null
}

export type CalculatorContent = {
  typeId: string
  /** Null where the page gives none that can be read: the title that stands stays. */
  title: string | null
  year: number
  /** 1 to 12; null on a yearly calculator. */
  month: number | null
  values: PageValue[]
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
  const groups = { i: fieldOf(element, names.inputs) ?? {}, o: fieldOf(element, names.outputs) ?? {} }
  if (!isObject(groups.i)) return unreadable(names.inputs, objectProblem(groups.i), groups.i)
  if (!isObject(groups.o)) return unreadable(names.outputs, objectProblem(groups.o), groups.o)

  const title = fieldOf(element, names.title)
  const titleProblem = textProblem(title)
  const refuseValue = (item: string, reason: string, value: unknown): void => {
    leftOut.push({ unit: 'value', companyId, calculatorId, item, reason, excerpt: excerptOf(value) })
  }
  if (titleProblem !== undefined) refuseValue(names.title, titleProblem, title)
  const values = [...pageValues('i', groups.i, refuseValue), ...pageValues('o', groups.o, refuseValue)]
  return {
    calculatorId,
    content: { typeId, title: titleProblem === undefined ? String(title) : null, ...period, values },
  }
}

type Refuse = (item: string, reason: string, value: unknown) => void

function pageValues(direction: 'i' | 'o', group: Record<string, unknown>, refuse: Refuse): PageValue[] {
  const values: PageValue[] = []
  for (const [variableId, value] of Object.entries(group)) {
    const badId = idProblem(variableId)
    const problem = badId ?? textProblem(value)
    if (problem === undefined) values.push({ direction, variableId, value: String(value) })
    else refuse(badId === undefined ? variableId : excerptOf(variableId), problem, value)
  }
  return values
}

/** The period, or why it is none. A month of null counts as absent: the calculator is yearly either way. */
function pagePeriod(value: unknown, contract: Contract): { year: number; month: number | null } | string {
  const names = contract.names.calculatorsPage
  if (value === undefined || value === null) return 'period_missing'
  if (!isObject(value)) return objectProblem(value)
  const year = fieldOf(value, names.year)
  if (typeof year !== 'number' || !Number.isInteger(year) || year < 1 || year > 9_999) return 'year_invalid'
  const given = fieldOf(value, names.month) ?? null
  if (given === null) return { year, month: null }
  const month = typeof given === 'string' ? monthNumber(given) : undefined
  return month === undefined ? 'month_unknown' : { year, month }
}

function objectProblem(value: unknown): string {
  return value === doubledKey ? 'key_twice' : 'no_object'
}
