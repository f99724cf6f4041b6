import { z } from 'zod'
import { monthName } from '../month-words.ts'

/**
 * An object of an answer or a file: `shape` says what each member is, `names` what it is called on the wire. It is
 * open, because new members can appear without a new version (specification, Versioning).
 */
export function document<const S extends Record<string, z.ZodType>>(
  names: { [K in keyof S]: string },
  shape: S,
): z.ZodObject {
  return z.looseObject(
    Object.fromEntries(Object.entries(shape).map(([own, schema]) => [names[own as keyof S], schema])),
  )
}

export const uuid = z.guid()
/** Text that says something: blank values are left out, not emitted empty. */
export const value = z.string().regex(/\S/)
export const year = z.int()
export const month = z.enum(Array.from({ length: 12 }, (_, index) => monthName(index + 1)))
export const address = z.url()

/** Makes something of a contract once, so that what two operations answer is one and the same schema. */
export function oncePer<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, Made>()
  return (key) => {
    const known = made.get(key) ?? make(key)
    made.set(key, known)
    return known
  }
}
