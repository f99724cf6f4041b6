import type { Contract } from '../../exchange/contract.ts'
import { type DataPoint, dataPointsOf } from '../catalogue/frameworks.ts'
import { catalogue } from '../catalogue.ts'
import type { JsonObject } from '../requests/read-json.ts'
import { isStorable } from '../storable-text.ts'
import type { Failure } from './work.ts'

export type Judged<T> = { value: T; failure: null } | { value: null; failure: Failure }

export function wrong(reason: string, message: string): { value: null; failure: Failure } {
  return { value: null, failure: { reason, message } }
}

const dataPoints = new Map(catalogue.frameworks.flatMap(dataPointsOf).map((point) => [point.id, point]))

export function findDataPoint(id: string): DataPoint | undefined {
  return dataPoints.get(id)
}

/** The values of an answer without their names, of a range of dates two, or why the service does not take them. */
export function judgeValue(contract: Contract, point: DataPoint, answer: JsonObject): Judged<unknown[]> {
  const wanted = answerNames(contract, point)
  const given = Object.keys(answer).filter((key) => answer[key] !== null && answer[key] !== undefined)
  if (given.length !== wanted.length || !wanted.every((name) => given.includes(name))) {
    const message = `The data point "${point.title}" takes exactly ${wanted.join(' and ')}.`
    return wrong('value_type_mismatch', message)
  }
  const values = wanted.map((name) => answer[name])
  return judgeValues(point, values)
}

/** Values that were judged good, under their names on the wire. */
export function answerOf(contract: Contract, point: DataPoint, values: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(answerNames(contract, point).map((name, index) => [name, values[index]]))
}

function answerNames(contract: Contract, point: DataPoint): string[] {
  const names = contract.names.frameworkAnswers
  switch (point.valueType) {
    case 'text':
      return [names.text]
    case 'number':
      return [names.number]
    case 'boolean':
      return [names.boolean]
    case 'date':
      return [names.dateIso]
    case 'dateRange':
      return [names.dateRangeFrom, names.dateRangeTo]
    case 'list':
      return [names.list]
  }
}

function judgeValues(point: DataPoint, values: unknown[]): Judged<unknown[]> {
  const [value, second] = values
  const mismatch = wrong('value_type_mismatch', `The value does not fit the data point "${point.title}".`)
  const good = { value: values, failure: null }
  switch (point.valueType) {
    case 'text':
      if (typeof value !== 'string') return mismatch
      if (value.trim() === '') return wrong('value_blank', 'The text is blank.')
      return isStorable(value) ? good : wrong('text_not_storable', 'The text holds an unusable character.')
    case 'number':
      return typeof value === 'number' ? judgeRange(point, value) : mismatch
    case 'boolean':
      return typeof value === 'boolean' ? good : mismatch
    case 'date':
      return isIsoDate(value) ? good : wrong('date_invalid', 'The date is not an ISO date.')
    case 'dateRange':
      if (!isIsoDate(value) || !isIsoDate(second)) return wrong('date_invalid', 'One of the dates is not an ISO date.')
      return value <= second ? good : wrong('date_range_reversed', 'The range ends before it begins.')
    case 'list':
      return Array.isArray(value) && value.length > 0 ? judgeOptions(point, value) : mismatch
  }
}

function judgeRange(point: DataPoint, value: number): Judged<unknown[]> {
  const tooLow = point.min !== null && value < point.min
  const tooHigh = point.max !== null && value > point.max
  if (Number.isFinite(value) && !tooLow && !tooHigh) return { value: [value], failure: null }
  const message = `${value} is outside the range ${point.min} to ${point.max} of the data point "${point.title}".`
  return wrong('value_out_of_range', message)
}

/** Each option once, by its id as the catalogue spells it. */
function judgeOptions(point: DataPoint, sent: readonly unknown[]): Judged<unknown[]> {
  const chosen = new Set<string>()
  for (const id of sent) {
    const option = point.options.find((known) => typeof id === 'string' && known.id === id.toLowerCase())
    if (!option) {
      // Only a text is repeated: what is nested too deep cannot be written out, and would fail the whole request.
      const said = typeof id === 'string' ? JSON.stringify(id) : 'What is no text'
      return wrong('option_not_found', `${said} is not an option of the data point "${point.title}".`)
    }
    chosen.add(option.id)
  }
  return { value: [[...chosen]], failure: null }
}

/** A calendar date that exists, as `2025-03-31`. */
export function isIsoDate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}
