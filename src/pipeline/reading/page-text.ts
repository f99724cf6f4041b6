import { maxIdLength } from '../../exchange/wire-value.ts'
import { doubledKey } from './element-assembler.ts'

type TextProblem = 'missing' | 'key_twice' | 'no_text' | 'nul_character' | 'lone_surrogate' | 'id_too_long' | 'blank'

/** Why a value is no text that can be stored byte for byte; undefined if it is one. */
export function textProblem(value: unknown): TextProblem | undefined {
  if (value === undefined) return 'missing'
  if (value === doubledKey) return 'key_twice'
  if (typeof value !== 'string') return 'no_text'
  // PostgreSQL stores no NUL, and UTF-8 has no lone surrogate: writing either would change the value.
  if (value.includes('\u0000')) return 'nul_character'
  if (!value.isWellFormed()) return 'lone_surrogate'
  return undefined
}

/**
 * As `textProblem`, for a value or a name. The service leaves blank ones out (specification, Calculator search result
 * page), so that one which is there says nothing: it must not take the place of what is known.
 */
export function contentProblem(value: unknown): TextProblem | undefined {
  return textProblem(value) ?? (/^[ \t\r\n]*$/.test(String(value)) ? 'blank' : undefined)
}

/** As `textProblem`, for an id of a variable or a property, whose form the specification leaves open. */
export function idProblem(value: unknown): TextProblem | undefined {
  const problem = textProblem(value)
  if (problem !== undefined) return problem
  if (value === '') return 'missing'
  return String(value).length > maxIdLength ? 'id_too_long' : undefined
}

const maxExcerptLength = 200

/** What stood on the page, as JSON, cut short: storable and printable whatever it holds. */
export function excerptOf(value: unknown): string {
  const text = value === doubledKey ? '(the key is given twice)' : (JSON.stringify(value) ?? '(nothing)')
  return text.length <= maxExcerptLength ? text : `${text.slice(0, maxExcerptLength - 1).toWellFormed()}…`
}

/** A JSON object: neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The value of a field; undefined where the object has none of its own. Objects of `JSON.parse` inherit fields such as
 * `constructor`, which are not on the page, and the contract may name any.
 */
export function fieldOf(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined
}
