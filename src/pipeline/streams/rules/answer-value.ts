import type { Contract } from '../../../exchange/contract.ts'
import { shown } from './row-content.ts'

/** How a value of the partner is meant; null in the stream means: as the framework says. */
export const valueTypes = ['text', 'number', 'boolean', 'date', 'date_range', 'list'] as const
export type ValueType = (typeof valueTypes)[number]

type AnswerValue = { value: Record<string, unknown> } | { problem: string }

const decimal = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/
const isoDate = /^\d{4}-\d{2}-\d{2}$/

/**
 * The answer as the service takes it: exactly one typed member (Framework answers upsert request), or what is
 * wrong with the text. Numbers must survive the way through a double unchanged, or they are refused.
 */
export function answerValue(contract: Contract, type: ValueType, text: string): AnswerValue {
  const names = contract.names.frameworkAnswers
  switch (type) {
    case 'text':
      return { value: { [names.text]: text } }
    case 'number':
      return numberValue(names.number, text)
    case 'boolean':
      if (text === 'true' || text === 'false') return { value: { [names.boolean]: text === 'true' } }
      return { problem: `'${shown(text)}' is no boolean: true or false is expected` }
    case 'date':
      if (isDate(text)) return { value: { [names.dateIso]: text } }
      return { problem: `'${shown(text)}' is no date: YYYY-MM-DD is expected` }
    case 'date_range': {
      const [from = '', to = '', ...rest] = text.split('/')
      if (rest.length > 0 || !isDate(from) || !isDate(to) || from > to) {
        return { problem: `'${shown(text)}' is no date range: YYYY-MM-DD/YYYY-MM-DD is expected` }
      }
      return { value: { [names.dateRangeFrom]: from, [names.dateRangeTo]: to } }
    }
    case 'list':
      return listValue(names.list, text)
    default:
      return type satisfies never
  }
}

/** The value type that a framework's own name for it means, or null where the name is not known. */
export function valueTypeOf(frameworkName: string | null): ValueType | null {
  const name = (frameworkName ?? '').toLowerCase().replaceAll(/[^a-z]/g, '')
  const plain = name === 'daterange' ? 'date_range' : name
  return valueTypes.find((type) => type === plain) ?? null
}

function numberValue(member: string, text: string): AnswerValue {
  const exact = exactNumber(text)
  return 'problem' in exact ? exact : { value: { [member]: exact.number } }
}

/** The number that a text says, if the way through a double leaves it as it is; else what is wrong with it. Pure. */
export function exactNumber(text: string): { number: number } | { problem: string } {
  if (!decimal.test(text)) return { problem: `'${shown(text)}' is no number` }
  const number = Number(text)
  if (!Number.isFinite(number)) return { problem: `'${shown(text)}' is too large a number` }
  const written = String(number)
  if (written !== text && significant(text) !== significant(written)) {
    return { problem: `'${shown(text)}' has more digits than a JSON number keeps` }
  }
  return { number }
}

function listValue(member: string, text: string): AnswerValue {
  let options: unknown
  try {
    options = text.trimStart().startsWith('[') ? JSON.parse(text) : text.split(',').map((option) => option.trim())
  } catch {
    return { problem: `'${shown(text)}' is no list: a JSON array of option ids is expected` }
  }
  if (!Array.isArray(options) || options.length === 0 || options.some((o) => typeof o !== 'string' || o === '')) {
    return { problem: `'${shown(text)}' is no list of option ids` }
  }
  return { value: { [member]: options } }
}

/** Whether a text is a decimal number. */
export function isNumber(text: string): boolean {
  return decimal.test(text)
}

/** Digits and exponent of a decimal without leading and trailing zeros, so that 1.50 and 1.5 compare equal. */
function significant(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().replace(/^\+/, '').split('e')
  const negative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = `${whole}${fraction}`
  const leading = digits.length - digits.replace(/^0+/, '').length
  const kept = digits.replace(/^0+/, '').replace(/0+$/, '')
  if (kept === '') return '0'
  return `${negative ? '-' : ''}${kept}e${whole.length - leading + Number(exponent)}`
}

/** Whether a text is a day that exists, as 2025-03-31. */
export function isDate(text: string): boolean {
  return isoDate.test(text) && !Number.isNaN(Date.parse(text)) && new Date(text).toISOString().startsWith(text)
}
