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
