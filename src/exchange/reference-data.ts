import type { Contract } from './contract.ts'
import { AnswerFormatError } from './errors.ts'
import { booleanOf, idOf, indexedIdOf, listOf, objectOf, textOf, type WireObject } from './wire-value.ts'

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

/** Elements of a list that have an id that can be kept; nothing can refer to one that has none. */
function records(json: unknown, what: string, idName: string): { id: string; fields: WireObject }[] {
  if (!Array.isArray(json)) throw new AnswerFormatError(`${what}: a list was expected`)
  return json.flatMap((item: unknown) => {
    const fields = objectOf(item)
    const id = indexedIdOf(fields?.[idName])
    return fields === null || id === null ? [] : [{ id, fields }]
  })
}

export type FrameworkDataPoint = {
  id: string
  /** The service's spelling; null when it does not say. */
  valueType: string | null
  reportingPeriodType: string | null
  /** Empty when the data point takes no unit. */
  unitIds: string[]
  /** Empty unless the answer is a list. */
  optionIds: string[]
  /** The nearest question above it. An omission is keyed by question. */
  questionId: string | null
}

/** What an answer or omission can refer to within one framework. */
export type FrameworkIndex = {
  id: string
  title: string
  questionIds: string[]
  dataPoints: FrameworkDataPoint[]
  /** What questions, data points and options are called, by id: for people. */
  titles: Record<string, string>
  /** The answer as it came: what to keep, because the index cannot be read a second time. */
  raw: unknown
}

/**
 * Known frameworks nest some 15 levels deep. A bound that is too low refuses a framework, one too high costs nothing.
 */
const maxDepth = 100

type Place = {
  value: unknown
  depth: number
  /** The field that holds the value, or the list that holds it. */
  field: string
  questionId: string | null
  dataPoint: OpenDataPoint | null
}

/** A data point that is being read: sets, because a list may offer very many options. */
type OpenDataPoint = Omit<FrameworkDataPoint, 'unitIds' | 'optionIds'> & {
  unitIds: Set<string>
  optionIds: Set<string>
}

/**
 * Finds questions, data points, units and options wherever they stand in a framework, in document order.
 *
 * The levels between them are not shown by the specification (Spec gap, docs/spec-gaps.md), so only the lists that
 * contain them count. A question below an option starts afresh. One that appears twice is indexed once.
 * @throws {AnswerFormatError} when the answer has no id or nests deeper than any framework does.
 */
export function decodeFramework(contract: Contract, json: unknown): FrameworkIndex {
  const names = contract.names.frameworks
  const root = objectOf(json)
  const id = idOf(root?.[names.id])
  if (root === null || id === null) throw new AnswerFormatError(`no framework: an object with ${names.id} was expected`)

  const questionIds = new Set<string>()
  const dataPoints = new Map<string, OpenDataPoint>()
  const titles = new Map<string, string>()
  const places: Place[] = [{ value: root, depth: 0, field: '', questionId: null, dataPoint: null }]
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    if (place.depth > maxDepth) throw new AnswerFormatError(`framework ${id} nests deeper than ${maxDepth} levels`)
    const inner = { ...place, depth: place.depth + 1 }
    if (Array.isArray(place.value)) {
      for (const value of place.value.toReversed()) places.push({ ...inner, value })
      continue
    }
    const fields = objectOf(place.value)
    if (fields === null) {
      noteBareId(names, place)
      continue
    }
    const ownId = idOf(fields[names.id])
    const title = textOf(fields[names.title])
    if (ownId !== null && title !== null && titled(names, place.field)) titles.set(ownId, title)
    if (ownId !== null && place.field === names.questions) {
      questionIds.add(ownId)
      inner.questionId = ownId
      inner.dataPoint = null
    } else if (ownId !== null && place.field === names.dataPoints) {
      inner.dataPoint = dataPoints.get(ownId) ?? {
        id: ownId,
        valueType: textOf(fields[names.valueType]),
        reportingPeriodType: textOf(fields[names.reportingPeriodType]),
        unitIds: new Set(),
        optionIds: new Set(),
        questionId: place.questionId,
      }
      dataPoints.set(ownId, inner.dataPoint)
    } else if (ownId !== null) {
      noteChoice(names, place, ownId)
    }
    for (const [field, value] of Object.entries(fields).toReversed()) {
      if (typeof value === 'object' && value !== null) places.push({ ...inner, field, value })
    }
  }
  return {
    id,
    title: textOf(root[names.title]) ?? '',
    questionIds: [...questionIds],
    dataPoints: [...dataPoints.values()].map(({ unitIds, optionIds, ...point }) => ({
      ...point,
      unitIds: [...unitIds],
      optionIds: [...optionIds],
    })),
    titles: Object.fromEntries(titles),
    raw: json,
  }
}

type FrameworkNames = Contract['names']['frameworks']

function titled(names: FrameworkNames, field: string): boolean {
  return field === names.questions || field === names.dataPoints || field === names.options
}

/** A list of options or units may contain their ids alone. */
function noteBareId(names: FrameworkNames, place: Place): void {
  const id = idOf(place.value)
  if (id !== null) noteChoice(names, place, id)
}

function noteChoice(names: FrameworkNames, { field, dataPoint }: Place, id: string): void {
  const ids = field === names.units ? dataPoint?.unitIds : field === names.options ? dataPoint?.optionIds : undefined
  ids?.add(id)
}
