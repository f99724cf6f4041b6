/**
 * Whether a request was taken. Which status of the 200s says so the specification gives for two of them only
 * (specification, Endpoints): those are judged under their own statements.
 */
export function isTaken(status: number): boolean {
  return status >= 200 && status < 300
}

/** Statuses that tell that there is no such endpoint, or no longer. */
const nowhere: readonly number[] = [404, 405, 410, 501]

export function isNowhere(status: number): boolean {
  return nowhere.includes(status)
}

/**
 * Whether a request was refused for what its body says, for who asks, or for how often: where the body is not shown,
 * that breaks no rule.
 */
export function isOpenRefusal(status: number): boolean {
  return [400, 403, 409, 413, 422, 429].includes(status)
}

/** A JSON object of any shape. */
export type WireObject = Record<string, unknown>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuid.test(value)
}

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A member of what may be an object; undefined otherwise. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((found, key) => (isObject(found) ? found[key] : undefined), value)
}

/** The elements that are objects of what may be an array. */
export function objectsOf(value: unknown): WireObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

export function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

/** Ids mean the same in capitals. */
export function isSameId(one: unknown, other: unknown): boolean {
  return typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase()
}

/** What a value is, for a person: its type, or the keys of an object. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isObject(value)) return `an object with ${Object.keys(value).slice(0, 12).join(', ') || 'no members'}`
  return typeof value === 'string' ? `"${value.slice(0, 60)}"` : said(value)
}

/** A single value as it reads in a sentence: a text without quotes. */
export function said(value: unknown): string {
  if (value === undefined) return 'nothing'
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? typeof value)
}
