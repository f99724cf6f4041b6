import type { FrameworkDataPoint } from '../../../exchange/reference-data.ts'
import { hint, listed, named } from './known-id.ts'
import { key, type ReferenceIndex } from './reference-index.ts'
import { shown } from './row-content.ts'

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
