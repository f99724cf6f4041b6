import type { FrameworkDataPoint } from '../../../exchange/reference-data.ts'
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

/**
 * What is wrong with the options of a list answer, or null: each belongs to the data point and stands once. Nothing is
 * said of answers that are no lists, nor where the framework shows no options.
 */
export function checkOptions(
  reference: ReferenceIndex,
  dataPoint: FrameworkDataPoint | undefined,
  chosen: unknown,
): string | null {
  if (!Array.isArray(chosen)) return null
  const options = chosen.filter((option) => typeof option === 'string')
  const twice = options.find((option, index) => options.slice(0, index).some((other) => key(other) === key(option)))
  if (twice !== undefined) return `option ${named(reference, twice)} is chosen twice`
  if (dataPoint === undefined || dataPoint.optionIds.length === 0) return null
  const own = new Set(dataPoint.optionIds.map(key))
  const wrong = options.find((option) => !own.has(key(option)))
  if (wrong === undefined) return null
  const titled = dataPoint.optionIds.find((id) => reference.titles.get(key(id))?.toLowerCase() === wrong.toLowerCase())
  if (titled !== undefined) {
    return `'${shown(wrong)}' is what an option of the data point ${named(reference, dataPoint.id)} is called; its id is needed: ${titled}`
  }
  const known = listed(dataPoint.optionIds.map((id) => named(reference, id)))
  return `option '${shown(wrong)}' is none of the data point ${named(reference, dataPoint.id)}${hint(reference, wrong, dataPoint.optionIds)}. It has: ${known}`
}

/**
 * What is wrong with the unit of an answer, or null. Spec gap: whether a unit may be left out where a data point has
 * units is not shown; a quantity without one is taken for a mistake (docs/spec-gaps.md).
 */
export function checkUnit(
  reference: ReferenceIndex,
  dataPoint: FrameworkDataPoint | undefined,
  unitId: string | null,
): string | null {
  if (dataPoint === undefined) return null
  const point = named(reference, dataPoint.id)
  const { unitIds } = dataPoint
  const units = () => listed(unitIds.map((id) => named(reference, id)))
  if (unitId === null) return unitIds.length === 0 ? null : `data point ${point} needs a unit_id, one of: ${units()}`
  if (unitIds.length === 0) return `data point ${point} takes no unit; unit_id must be null`
  if (unitIds.some((id) => key(id) === key(unitId))) return null
  const spelt = unitIds.find((id) => isCalled(reference, id, unitId))
  if (spelt !== undefined) return `unit_id '${shown(unitId)}' is what the unit is called; its id is needed: ${spelt}`
  return `unit ${shown(unitId)} does not belong to data point ${point}${hint(reference, unitId, unitIds)}. It takes: ${units()}`
}

function isCalled(reference: ReferenceIndex, id: string, word: string): boolean {
  const unit = reference.units.get(key(id))
  const names = unit === undefined ? [] : [unit.name, unit.abbreviation ?? unit.name]
  return names.some((name) => name.toLowerCase() === word.trim().toLowerCase())
}
