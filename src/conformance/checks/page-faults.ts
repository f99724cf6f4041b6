import { integerOf, monthNumber } from '../../exchange/wire-value.ts'
import type { Bench } from '../bench.ts'
import { at, isObject, kindOf, objectsOf, textOf, type WireObject } from '../wire-json.ts'

type PageBench = Pick<Bench, 'contract'>

/** What is wrong with each element, as `what: seen`. Pure. */
export function faultsOf<T>(elements: readonly T[], fault: (element: T) => string | null): string[] {
  return elements.flatMap((element) => fault(element) ?? [])
}

/** A map by ids of any form, whose values are as they must be; an empty one should have been left out. */
export function mapFault(what: string, value: unknown, isValue: (value: unknown) => boolean): string | null {
  if (value === undefined) return null
  if (!isObject(value)) return `${what} is ${kindOf(value)}`
  const entries = Object.entries(value)
  if (entries.length === 0) return `${what} is empty rather than absent`
  const bad = entries.find(([, one]) => !isValue(one))
  return bad === undefined ? null : `${what} holds ${bad[0]}: ${kindOf(bad[1])}`
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isFilledText(value: unknown): boolean {
  return isText(value) && value.trim() !== ''
}

export function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isFilledText)
}

/** A calculator's period: a year, and the name of a month or none. */
export function periodFault({ contract }: PageBench, calculator: WireObject): string | null {
  const names = contract.names.calculatorsPage
  const period = calculator[names.period]
  if (!isObject(period)) return `period is ${kindOf(period)}`
  const month = period[names.month]
  if (integerOf(period[names.year]) === null) return `year is ${kindOf(period[names.year])}`
  if (month !== undefined && (typeof month !== 'string' || monthNumber(month) === undefined))
    return `month is ${kindOf(month)}`
  return null
}

/** Variables that a page's calculators use and its list does not name; and what it names twice, or without an id. */
export function variableFaults({ contract }: PageBench, page: unknown): string[] {
  const names = contract.names.calculatorsPage
  const listed = at(page, names.calculatorVariables)
  const ids = objectsOf(listed).map((variable) => textOf(variable[names.id]))
  const known = new Map(objectsOf(listed).map((variable) => [textOf(variable[names.id]), variable[names.name]]))
  const used = new Set<string>()
  for (const company of objectsOf(at(page, names.companies))) {
    for (const calculator of objectsOf(company[names.calculators])) {
      for (const field of [names.inputs, names.outputs]) {
        for (const id of Object.keys(at(calculator, field) ?? {})) used.add(id)
      }
    }
  }
  if (used.size === 0) return listed === undefined ? [] : ['the list is there though no calculator carries a value']
  return [
    ...[...used].filter((id) => typeof known.get(id) !== 'string').map((id) => `${id} is used and not listed`),
    ...ids.filter((id) => id === null).map(() => 'one is listed without an id'),
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id} is listed twice`),
  ]
}
