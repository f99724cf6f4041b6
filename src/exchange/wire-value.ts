import { AnswerFormatError } from './errors.ts'

/** A JSON object whose unknown fields are kept and ignored: new ones can appear without a new version. */
export type WireObject = Record<string, unknown>

// A task may name very many rows, most of whose fields are absent. A schema would describe at length what is wrong with
// each of these, at 10 microseconds apiece, for nobody to read.

/** The object, or null when the value is none; an array is none. */
export function objectOf(value: unknown): WireObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as WireObject) : null
}

/** A string as it is, a number as its text, anything else null. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

/** An id: a text that is not blank, else null. */
export function idOf(value: unknown): string | null {
  const text = textOf(value)
  return text === null || text.trim() === '' ? null : text
}

/** Ids are indexed, and an index entry has a limit near 2,700 bytes; ids of the service are 36 characters long. */
export const maxIdLength = 200

/** An id that is kept and found again by an index; null for none, and for one that is too long. */
export function indexedIdOf(value: unknown): string | null {
  const id = idOf(value)
  return id !== null && id.length > maxIdLength ? null : id
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** A UUID in its canonical lower-case form; null for anything else. */
export function uuidOf(value: unknown): string | null {
  return typeof value === 'string' && uuidForm.test(value) ? value.toLowerCase() : null
}

/** An integer, also when it is sent as a string; anything else null. */
export function integerOf(value: unknown): number | null {
  if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) return Number(value)
  return Number.isSafeInteger(value) ? (value as number) : null
}

/** A boolean, anything else null. */
export function booleanOf(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

/**
 * An instant; null when it is missing or no date. A time without a zone is UTC, as everything the service
 * states, and not the time of this machine's zone.
 */
export function instantOf(value: unknown): Date | null {
  if (typeof value !== 'string') return null
  const zoned = /T[\d:.]+$/.test(value) ? `${value}Z` : value
  const instant = new Date(zoned)
  return Number.isNaN(instant.getTime()) ? null : instant
}

/**
 * The elements of a list that may be missing or null.
 * @throws {AnswerFormatError} when something else stands in its place: taking it for empty would hide what it says.
 */
export function listOf(value: unknown, where: string): unknown[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value)) return value
  throw new AnswerFormatError(`${where} is no list`)
}

const names = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

type MonthName = (typeof names)[number]

const monthNumbers = new Map(names.map((name, index) => [name.toLowerCase(), index + 1]))

/** The name to write for a month from 1 to 12. @throws {RangeError} for any other number. */
export function monthName(month: number): MonthName {
  const name = names[month - 1]
  if (name === undefined) throw new RangeError(`month ${month} is not between 1 and 12`)
  return name
}

/** The month from 1 to 12 that a name means, in any case; undefined when it names none. Abbreviations name none. */
export function monthNumber(name: string): number | undefined {
  return monthNumbers.get(name.toLowerCase())
}
