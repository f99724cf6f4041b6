/**
 * How a statement stands in the specification: a table row, a numbered item, a bullet, running text, or a remark that
 * something is not shown.
 */
export type Form = 'row' | 'item' | 'bullet' | 'text' | 'open'

/** One statement of the specification: a stable id, its form, and what it says, in our own words. */
export type Entry<Id extends string = string> = { readonly id: Id; readonly form: Form; readonly rule: string }

/** The statements under one heading, in the order of the specification. */
export type Section<Id extends string = string> = { readonly heading: string; readonly entries: readonly Entry<Id>[] }

export const row = <const Id extends string>(id: Id, rule: string): Entry<Id> => ({ id, form: 'row', rule })
export const item = <const Id extends string>(id: Id, rule: string): Entry<Id> => ({ id, form: 'item', rule })
export const bullet = <const Id extends string>(id: Id, rule: string): Entry<Id> => ({ id, form: 'bullet', rule })
export const text = <const Id extends string>(id: Id, rule: string): Entry<Id> => ({ id, form: 'text', rule })
/** What the specification says is not shown: the check tells what was seen in its place. */
export const open = <const Id extends string>(id: Id, rule: string): Entry<Id> => ({ id, form: 'open', rule })

export function section<const Id extends string>(heading: string, entries: readonly Entry<Id>[]): Section<Id> {
  return { heading, entries }
}

/** The ids of a list of sections, so that a table of checks can be compared with them by the compiler. */
export type IdOf<Sections extends readonly Section[]> = Sections[number]['entries'][number]['id']
