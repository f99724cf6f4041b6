import { RequestRefused } from '../request-refused.ts'

export type JsonObject = Record<string, unknown>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value)
}

/** A body's bytes as JSON. @throws {RequestRefused} 400 when they are no UTF-8 or no JSON. */
export function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new RequestRefused(400, 'body_malformed', 'The body is not JSON in UTF-8.')
  }
}

// The readers below take an object, the name of a member and where the object stands, and refuse the whole request
// (400 body_invalid) when the member has the wrong shape. An absent member and null are the same.

export function asObject(value: unknown, at: string): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(at, 'must be an object')
  return value as JsonObject
}

export function objects(from: JsonObject, name: string, at: string): JsonObject[] {
  const value = from[name]
  if (!Array.isArray(value)) throw invalid(`${at}.${name}`, 'must be an array')
  return value.map((element, index) => asObject(element, `${at}.${name}[${index}]`))
}

export function optionalObjects(from: JsonObject, name: string, at: string): JsonObject[] {
  return isAbsent(from[name]) ? [] : objects(from, name, at)
}

export function optionalObject(from: JsonObject, name: string, at: string): JsonObject | null {
  return isAbsent(from[name]) ? null : asObject(from[name], `${at}.${name}`)
}

export function optionalStrings(from: JsonObject, name: string, at: string): string[] {
  const value = from[name]
  if (isAbsent(value)) return []
  if (!Array.isArray(value)) throw invalid(`${at}.${name}`, 'must be an array')
  return value.map((element: unknown, index) => {
    if (typeof element !== 'string') throw invalid(`${at}.${name}[${index}]`, 'must be a string')
    return element
  })
}

export function text(from: JsonObject, name: string, at: string): string {
  const value = from[name]
  if (typeof value !== 'string') throw invalid(`${at}.${name}`, 'must be a string')
  return value
}

export function optionalText(from: JsonObject, name: string, at: string): string | null {
  return isAbsent(from[name]) ? null : text(from, name, at)
}

export function optionalNumber(from: JsonObject, name: string, at: string): number | null {
  const value = from[name]
  if (isAbsent(value)) return null
  if (typeof value !== 'number') throw invalid(`${at}.${name}`, 'must be a number')
  return value
}

export function optionalBoolean(from: JsonObject, name: string, at: string): boolean | null {
  const value = from[name]
  if (isAbsent(value)) return null
  if (typeof value !== 'boolean') throw invalid(`${at}.${name}`, 'must be true or false')
  return value
}

/** A UUID in lower case. */
export function requiredUuid(from: JsonObject, name: string, at: string): string {
  const value = from[name]
  if (isAbsent(value) || value === '') throw new RequestRefused(400, 'field_missing', `${at}.${name} is missing.`)
  if (!isUuid(value)) throw invalid(`${at}.${name}`, 'must be a UUID')
  return value.toLowerCase()
}

export function optionalUuid(from: JsonObject, name: string, at: string): string | null {
  return isAbsent(from[name]) ? null : requiredUuid(from, name, at)
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null
}

function invalid(at: string, rule: string): RequestRefused {
  return new RequestRefused(400, 'body_invalid', `${at} ${rule}.`)
}
