import type { QuarantineUnit } from '../../../db/tables/calculator-tables.ts'

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

/** One thing that was left out of a page because its content cannot be right. */
export type LeftOut = {
  unit: QuarantineUnit
  companyId: string | null
  calculatorId: string | null
  /** The field, the variable id or the property id that holds it. */
  item: string | null
  /** A stable code. */
  reason: string
  excerpt: string
}
