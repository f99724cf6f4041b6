import type { Contract } from './contract.ts'
import { AnswerFormatError } from './errors.ts'
import { booleanOf, idOf, listOf, objectOf, textOf, type WireObject } from './wire-value.ts'

export { decodeFramework, type FrameworkDataPoint, type FrameworkIndex } from './framework-index.ts'

type Unit = { id: string; name: string; abbreviation: string | null }
export type UnitType = { id: string; name: string; units: Unit[] }
export type Group = { id: string; name: string }
export type FrameworkSummary = { id: string; title: string }
export type CustomProperty = {
  id: string
  name: string
  /** The service's spelling, such as String; null when it does not say. */
  type: string | null
  /** Only an identifier can name companies in mappings and calculator upserts. */
  isIdentifier: boolean
  isOwnedByInvokingCompany: boolean | null
  ownerName: string | null
}

/** Reads GET unit-types. Answers are told apart by unit id, not by the id of the unit type. */
export function decodeUnitTypes(contract: Contract, json: unknown): UnitType[] {
  const names = contract.names.unitTypes
  return records(json, 'the unit types', names.id).map(({ id, fields }) => ({
    id,
    name: textOf(fields[names.name]) ?? '',
    units: listOf(fields[names.units], `unit type ${id}: ${names.units}`).flatMap((item) => {
      const unit = objectOf(item)
      const unitId = idOf(unit?.[names.id])
      if (unit === null || unitId === null) return []
      return [{ id: unitId, name: textOf(unit[names.name]) ?? '', abbreviation: textOf(unit[names.abbreviation]) }]
    }),
  }))
}

/** Reads GET groups. */
export function decodeGroups(contract: Contract, json: unknown): Group[] {
  const names = contract.names.groups
  return records(json, 'the groups', names.id).map(({ id, fields }) => ({ id, name: textOf(fields[names.name]) ?? '' }))
}

/** Reads GET custom-properties. A property that does not say so is no identifier. */
export function decodeCustomProperties(contract: Contract, json: unknown): CustomProperty[] {
  const names = contract.names.customProperties
  return records(json, 'the custom properties', names.id).map(({ id, fields }) => ({
    id,
    name: textOf(fields[names.name]) ?? '',
    type: textOf(fields[names.type]),
    isIdentifier: booleanOf(fields[names.isIdentifier]) ?? false,
    isOwnedByInvokingCompany: booleanOf(fields[names.isOwnedByInvokingCompany]),
    ownerName: textOf(fields[names.ownerName]),
  }))
}

/** Reads the list of frameworks. */
export function decodeFrameworks(contract: Contract, json: unknown): FrameworkSummary[] {
  const names = contract.names.frameworks
  return records(json, 'the frameworks', names.id).map(({ id, fields }) => ({
    id,
    title: textOf(fields[names.title]) ?? '',
  }))
}

/** Elements of a list that have an id; nothing can refer to one that has none. */
function records(json: unknown, what: string, idName: string): { id: string; fields: WireObject }[] {
  if (!Array.isArray(json)) throw new AnswerFormatError(`${what}: a list was expected`)
  return json.flatMap((item: unknown) => {
    const fields = objectOf(item)
    const id = idOf(fields?.[idName])
    return fields === null || id === null ? [] : [{ id, fields }]
  })
}
