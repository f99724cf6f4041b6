import type { FrameworkDataPoint } from '../../../exchange/reference-data.ts'
import { hint, listed, named } from './known-id.ts'
import { key, type ReferenceIndex } from './reference-index.ts'
import { shown } from './row-content.ts'

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
