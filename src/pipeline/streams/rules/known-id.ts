import { isId } from '../row-key.ts'
import { key, type ReferenceIndex } from './reference-index.ts'
import { type RowContent, shown, text } from './row-content.ts'

/** Characters by which two ids may differ and one still be taken for the other misspelt. */
const likelyTypos = 2

/** A column that must contain an id of the service: what is wrong with it, or null. */
export function checkId(content: RowContent, name: string): string | null {
  const id = text(content, name)
  return isId(id) ? null : `${name} '${shown(id ?? '')}' is no id`
}

/** An id as a reason writes it: with what the service calls it, where that is known. */
export function named(reference: ReferenceIndex, id: string): string {
  const title = reference.titles.get(key(id)) ?? reference.units.get(key(id))?.name
  return title === undefined ? id : `"${shown(title)}" (${id})`
}

/**
 * What may have been meant by an id that is not among `ids`: what else it names, or the one that differs by a character
 * or two. A half sentence to put behind the reason, or an empty text.
 */
export function hint(reference: ReferenceIndex, id: string, ids: Iterable<string>): string {
  const elsewhere = reference.known.get(key(id))
  if (elsewhere !== undefined) return `; it is ${elsewhere}`
  for (const other of ids) {
    if (differences(key(id), key(other)) <= likelyTypos) return `; ${named(reference, other)} is close to it`
  }
  return ''
}

function differences(one: string, other: string): number {
  if (one.length !== other.length) return Number.POSITIVE_INFINITY
  let count = 0
  for (let at = 0; at < one.length && count <= likelyTypos; at++) {
    if (one.charCodeAt(at) !== other.charCodeAt(at)) count++
  }
  return count
}

/** The first few of a list, for a reason. */
export function listed(words: readonly string[], most = 5): string {
  const rest = words.length - most
  return `${words.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`
}
