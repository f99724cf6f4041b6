import type { Contract } from '../../exchange/contract.ts'
import type { JsonObject } from '../requests/read-json.ts'
import type { WorldPoint } from '../service-world.ts'
import { isStorable } from '../storable-text.ts'
import type { Failure } from './work.ts'

export type Judged<T> = { value: T; failure: null } | { value: null; failure: Failure }

export function wrong(reason: string, message: string): { value: null; failure: Failure } {
  return { value: null, failure: { reason, message } }
}

/** The values of an answer without their names, of a range of dates two, or why the service does not take them. */
export function judgeValue(contract: Contract, point: WorldPoint, answer: JsonObject): Judged<unknown[]> {
  if (point.valueType === 'any') return judgeAnyForm(answer)
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
export function answerOf(contract: Contract, point: WorldPoint, values: readonly unknown[]): Record<string, unknown> {
  if (point.valueType === 'any') return values[0] as JsonObject
  return Object.fromEntries(answerNames(contract, point).map((name, index) => [name, values[index]]))
}

function answerNames(contract: Contract, point: WorldPoint): string[] {
  const names = contract.names.frameworkAnswers
  switch (point.valueType) {
    case 'any':
      return []
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

function judgeValues(point: WorldPoint, values: unknown[]): Judged<unknown[]> {
  const [value, second] = values
  const mismatch = wrong('value_type_mismatch', `The value does not fit the data point "${point.title}".`)
  const good = { value: values, failure: null }
  switch (point.valueType) {
    case 'any':
      return good
    case 'text':
      if (typeof value !== 'string') return mismatch
      if (value.trim() === '') return wrong('value_blank', 'The text is blank.')
      return isStorable(value) ? good : unstorable
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

const unstorable = wrong('text_not_storable', 'The text holds an unusable character.')

/** Levels of an answer of any form: far beyond any answer, and far below what cannot be written out or stored. */
const maxDepth = 100

/** An answer whose form nobody knows is taken if it can be kept as it is. */
function judgeAnyForm(answer: JsonObject): Judged<unknown[]> {
  let level: unknown[] = [answer]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return wrong('value_type_mismatch', 'The answer is nested too deep.')
    if (level.some((value) => typeof value === 'string' && !isStorable(value))) return unstorable
    level = level.flatMap(namesAndValues)
  }
  return { value: [answer], failure: null }
}

function namesAndValues(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Array.isArray(value) ? value : Object.entries(value).flat()
}

function judgeRange(point: WorldPoint, value: number): Judged<unknown[]> {
  const tooLow = point.min !== null && value < point.min
  const tooHigh = point.max !== null && value > point.max
  if (Number.isFinite(value) && !tooLow && !tooHigh) return { value: [value], failure: null }
  const message = `${value} is outside the range ${point.min} to ${point.max} of the data point "${point.title}".`
  return wrong('value_out_of_range', message)
}

/** Each option once, by its id as the catalogue spells it. */
function judgeOptions(point: WorldPoint, sent: readonly unknown[]): Judged<unknown[]> {
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

/** A calendar date that exists, as `2025-03-31`. Postgres has no year zero. */
export function isIsoDate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value) || value < '0001') return false
  const date = new Date(`${value}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(value)
}
