import type { Contract } from '../../exchange/contract.ts'
import { type DataPoint, dataPointsOf, questionsOf } from '../catalogue/frameworks.ts'
import { catalogue } from '../catalogue.ts'
import { monthNumber } from '../month-names.ts'
import type { AnswerEntry, PeriodEntry } from '../requests/read-answers.ts'
import type { JsonObject } from '../requests/read-json.ts'
import { isStorable } from '../storable.ts'
import type { Failure } from './work.ts'

export type Period = { periodType: 'Yearly' | 'Monthly'; year: number; month: number }
export type Judged<T> = { value: T; failure: null } | { value: null; failure: Failure }

const dataPoints = new Map(catalogue.frameworks.flatMap(dataPointsOf).map((point) => [point.id, point]))
const questionIds = new Set(catalogue.frameworks.flatMap(questionsOf).map((question) => question.id))

function wrong(reason: string, message: string): { value: null; failure: Failure } {
  return { value: null, failure: { reason, message } }
}

/** A Yearly period starts in January unless it names a month; a Monthly one is one month (specification, Resources). */
export function judgePeriod(contract: Contract, period: PeriodEntry): Judged<Period> {
  const { yearly, monthly } = contract.names.frameworkAnswers
  const { year } = period
  if (period.periodType !== yearly && period.periodType !== monthly) {
    return wrong('period_type_unknown', `The period type "${period.periodType}" is neither ${yearly} nor ${monthly}.`)
  }
  if (year === null || !Number.isInteger(year) || year < 1900 || year > 2100) {
    return wrong('year_invalid', 'The year must be a whole number between 1900 and 2100.')
  }
  const periodType = period.periodType === yearly ? 'Yearly' : 'Monthly'
  if (period.month === null) {
    if (periodType === 'Monthly') return wrong('month_missing', 'A monthly period must name its month.')
    return { value: { periodType, year, month: 1 }, failure: null }
  }
  const month = monthNumber(period.month)
  if (month === null) return wrong('month_invalid', `"${period.month}" is not the name of a month.`)
  return { value: { periodType, year, month }, failure: null }
}

export function judgeOmission(questionId: string): Failure | null {
  if (questionIds.has(questionId)) return null
  return { reason: 'question_not_found', message: `There is no question with the id "${questionId}".` }
}

/** The answer's value as it is to be stored, or why the service does not take it. */
export function judgeAnswer(contract: Contract, entry: AnswerEntry, period: Period): Judged<unknown> {
  const point = dataPoints.get(entry.dataPointId)
  if (!point) return wrong('data_point_not_found', `There is no data point with the id "${entry.dataPointId}".`)
  if (point.reportingPeriodType !== 'Any' && point.reportingPeriodType !== period.periodType) {
    const message = `The data point "${point.title}" is reported ${point.reportingPeriodType}, not ${period.periodType}.`
    return wrong('period_type_not_allowed', message)
  }
  const unit = judgeUnit(point, entry.unitId)
  return unit ? { value: null, failure: unit } : judgeValue(contract, point, entry.answer)
}

function judgeUnit(point: DataPoint, unitId: string | null): Failure | null {
  const units = point.unitTypes.flatMap((unitType) => unitType.units)
  if (unitId === null) {
    if (units.length === 0) return null
    return { reason: 'unit_missing', message: `The data point "${point.title}" needs a unit.` }
  }
  if (units.some((unit) => unit.id === unitId)) return null
  return { reason: 'unit_not_allowed', message: `"${unitId}" is not a unit of the data point "${point.title}".` }
}

function judgeValue(contract: Contract, point: DataPoint, answer: JsonObject): Judged<unknown> {
  const names = contract.names.frameworkAnswers
  const given = Object.keys(answer).filter((key) => answer[key] !== null && answer[key] !== undefined)
  const wanted = point.valueType === 'dateRange' ? [names.dateRangeFrom, names.dateRangeTo] : [nameOf(contract, point)]
  if (given.length !== wanted.length || !wanted.every((name) => given.includes(name))) {
    const message = `The data point "${point.title}" takes exactly ${wanted.join(' and ')}.`
    return wrong('value_type_mismatch', message)
  }
  const values = wanted.map((name) => answer[name])
  const failure = judgeOf(point, values)
  return failure ? { value: null, failure } : { value: answer, failure: null }
}

function nameOf(contract: Contract, point: DataPoint): string {
  const names = contract.names.frameworkAnswers
  switch (point.valueType) {
    case 'text':
      return names.text
    case 'number':
      return names.number
    case 'boolean':
      return names.boolean
    case 'date':
    case 'dateRange':
      return names.dateIso
    case 'list':
      return names.list
  }
}

function judgeOf(point: DataPoint, [value, second]: unknown[]): Failure | null {
  const mismatch = { reason: 'value_type_mismatch', message: `The value does not fit the data point "${point.title}".` }
  switch (point.valueType) {
    case 'text':
      if (typeof value !== 'string') return mismatch
      if (value.trim() === '') return { reason: 'value_blank', message: 'The text is blank.' }
      if (!isStorable(value)) return { reason: 'text_not_storable', message: 'The text holds an unusable character.' }
      return null
    case 'number':
      return typeof value === 'number' ? judgeRange(point, value) : mismatch
    case 'boolean':
      return typeof value === 'boolean' ? null : mismatch
    case 'date':
      return isIsoDate(value) ? null : { reason: 'date_invalid', message: 'The date is not an ISO date.' }
    case 'dateRange':
      if (!isIsoDate(value) || !isIsoDate(second)) {
        return { reason: 'date_invalid', message: 'One of the dates is not an ISO date.' }
      }
      return value <= second ? null : { reason: 'date_range_reversed', message: 'The range ends before it begins.' }
    case 'list':
      return Array.isArray(value) && value.length > 0 ? judgeOptions(point, value) : mismatch
  }
}

function judgeRange(point: DataPoint, value: number): Failure | null {
  const tooLow = point.min !== null && value < point.min
  const tooHigh = point.max !== null && value > point.max
  if (Number.isFinite(value) && !tooLow && !tooHigh) return null
  const message = `${value} is outside the range ${point.min} to ${point.max} of the data point "${point.title}".`
  return { reason: 'value_out_of_range', message }
}

function judgeOptions(point: DataPoint, ids: readonly unknown[]): Failure | null {
  const unknown = ids.find((id) => !point.options.some((option) => option.id === id))
  if (unknown === undefined) return null
  const message = `${JSON.stringify(unknown)} is not an option of the data point "${point.title}".`
  return { reason: 'option_not_found', message }
}

/** A calendar date that exists, as `2025-03-31`. */
export function isIsoDate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}
