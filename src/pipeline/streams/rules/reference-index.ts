import { sql } from 'kysely'
import type pg from 'pg'
import type { Database } from '../../../db/database.ts'
import type { CustomProperty, FrameworkDataPoint, FrameworkIndex, UnitType } from '../../../exchange/reference-data.ts'
import { isId, type RowContent, shown, text } from './row-content.ts'

/** What rows are judged by besides the reference data: our own limits and settings. */
export type RowRules = {
  /** Longest text of a row, in UTF-16 units. The specification states none. */
  maxTextLength: number
  /** The custom property under which the partner's ids are stored; null: not known here. */
  customIdentifierId: string | null
}

type KnownFramework = { id: string; title: string; dataPointIds: ReadonlySet<string> }

/** The cached reference data, as rows are checked and written against it. Every key is an id in lower case. */
export type ReferenceIndex = {
  /** False while no framework is cached: then nothing can be said about data points. */
  frameworksKnown: boolean
  frameworks: ReadonlyMap<string, KnownFramework>
  dataPoints: ReadonlyMap<string, FrameworkDataPoint>
  questionIds: ReadonlySet<string>
  units: ReadonlyMap<string, { name: string; abbreviation: string | null }>
  customProperties: ReadonlyMap<string, CustomProperty>
  titles: ReadonlyMap<string, string>
  /** What each known id names, in words: `the unit Kilowatt hour`. */
  known: ReadonlyMap<string, string>
  /** What was said of ids that are not among others: many rows have the same wrong one. */
  hints: WeakMap<object, Map<string, string>>
  /** Variables that pulls have brought; empty before the first. */
  variableIds: ReadonlySet<string>
  rules: RowRules
}

type ReferenceSource = {
  /** `raw` is not needed. Frameworks that an earlier version stored have no titles. */
  frameworks?: readonly (Omit<FrameworkIndex, 'raw' | 'titles'> & { titles?: Record<string, string> })[]
  unitTypes?: readonly UnitType[]
  customProperties?: readonly CustomProperty[]
  variableIds?: readonly string[]
}

/** All that rows which were judged before need of the reference data: the types of their answers. */
export type AnswerTypes = { dataPoints: ReadonlyMap<string, Pick<FrameworkDataPoint, 'valueType'>> }

/** What a process last read of each database, and which frameworks that were. */
const answerTypes = new WeakMap<pg.Pool, AnswerTypes & { of: string | null }>()

/**
 * Reads the types of answers, where the frameworks are others than the last time: a night has hundreds of requests, and
 * to read a hundred frameworks takes as long as to send one.
 */
export async function loadAnswerTypes(pool: pg.Pool, db: Database): Promise<AnswerTypes> {
  const frameworks = db.selectFrom('reference_data').where('kind', '=', 'framework')
  const { of } = await frameworks
    // Every change of a row gives it another place and another transaction.
    .select(sql<string | null>`string_agg(concat_ws(' ', id, tableoid, xmin, ctid), ',' order by id)`.as('of'))
    .executeTakeFirstOrThrow()
  const known = answerTypes.get(pool)
  if (known?.of === of) return known
  const points = await frameworks
    .innerJoinLateral(
      sql<{ id: string; valueType: string | null }>`jsonb_to_recordset(document -> 'dataPoints')`.as<'point'>(
        sql`point (id text, "valueType" text)`,
      ),
      (join) => join.onTrue(),
    )
    .select(['point.id', 'point.valueType'])
    .orderBy('reference_data.id')
    .execute()
  const read = { of, dataPoints: new Map(points.map(({ id, valueType }) => [key(id), { valueType }])) }
  answerTypes.set(pool, read)
  return read
}

const noRules: RowRules = { maxTextLength: Number.POSITIVE_INFINITY, customIdentifierId: null }

/** Reads the reference data in force, and the variables that pulls have brought. */
export async function loadReferenceIndex(db: Database, rules: RowRules = noRules): Promise<ReferenceIndex> {
  const rows = await db
    .selectFrom('reference_data')
    .select('kind')
    .select(sql<object>`document - 'raw'`.as('document'))
    .orderBy('kind')
    .orderBy('id')
    .execute()
  const of = <T>(kind: string) => rows.filter((row) => row.kind === kind).map(({ document }) => document as T)
  const source: ReferenceSource = {
    frameworks: of<FrameworkIndex>('framework'),
    unitTypes: of<UnitType>('unit_type'),
    customProperties: of<CustomProperty>('custom_property'),
    variableIds: await variableIds(db),
  }
  return referenceIndexOf(source, rules)
}

/** Pure: the index over documents as they were fetched. */
export function referenceIndexOf(source: ReferenceSource, rules: RowRules = noRules): ReferenceIndex {
  const { frameworks = [], unitTypes = [], customProperties = [] } = source
  const units = unitTypes.flatMap((type) => type.units)
  return {
    frameworksKnown: frameworks.length > 0,
    frameworks: new Map(
      frameworks.map(({ id, title, dataPoints }) => [
        key(id),
        { id, title, dataPointIds: new Set(dataPoints.map((point) => key(point.id))) },
      ]),
    ),
    dataPoints: new Map(frameworks.flatMap(({ dataPoints }) => dataPoints.map((point) => [key(point.id), point]))),
    questionIds: new Set(frameworks.flatMap(({ questionIds }) => questionIds.map(key))),
    units: new Map(units.map(({ id, name, abbreviation }) => [key(id), { name, abbreviation }])),
    customProperties: new Map(customProperties.map((property) => [key(property.id), property])),
    titles: new Map(
      frameworks.flatMap(({ titles = {} }) => Object.entries(titles).map(([id, title]) => [key(id), title])),
    ),
    known: new Map(wordsOf(source)),
    hints: new WeakMap(),
    variableIds: new Set((source.variableIds ?? []).map(key)),
    rules,
  }
}

/** Ids are compared without regard to case: SQL Server writes them in capitals. */
export function key(id: string): string {
  return id.toLowerCase()
}

/** The data point with this id, in any case, if the service has one. */
export function dataPointOf<Point>(
  reference: { dataPoints: ReadonlyMap<string, Point> },
  id: string | null,
): Point | undefined {
  return id === null ? undefined : reference.dataPoints.get(key(id))
}

/** What each id names. The more telling come last and win where one id means several things. */
function wordsOf({ frameworks = [], unitTypes = [], customProperties = [] }: ReferenceSource): [string, string][] {
  const words: [string, string][] = []
  const add = (id: string, what: string) => words.push([key(id), what])
  for (const property of customProperties) add(property.id, `the custom property "${property.name}"`)
  for (const type of unitTypes) {
    for (const unit of type.units) add(unit.id, `the unit ${unit.name}`)
    add(type.id, `the unit type ${type.name}`)
  }
  for (const { id, title, questionIds, dataPoints, titles = {} } of frameworks) {
    const called = (inner: string) => (Object.hasOwn(titles, inner) ? ` "${titles[inner]}"` : '')
    for (const point of dataPoints) {
      for (const option of point.optionIds) {
        add(option, `an option${called(option)} of the data point${called(point.id)} ${point.id}`)
      }
      add(point.id, `the data point${called(point.id)}`)
    }
    for (const question of questionIds) add(question, `the question${called(question)}`)
    add(id, `the framework "${title}"`)
  }
  return words
}

/** Ids of the variables that pulls have brought; of inputs they are field type ids. */
async function variableIds(db: Database): Promise<string[]> {
  const rows = await db.selectFrom('calculator_variable').select('variable_id').execute()
  return rows.map(({ variable_id }) => variable_id)
}

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

/** Wrong ids that are remembered with what was said of them. A query that gives ids of its own has one for each row. */
const mostHints = 1_000

/**
 * What may have been meant by an id that is not among `ids`: what else it names, or the one that differs by a character
 * or two. A half sentence to put behind the reason, or an empty text.
 * @param ids of the reference data themselves, not a list made for the call.
 */
export function hint(
  reference: ReferenceIndex,
  id: string,
  ids: ReadonlyMap<string, unknown> | ReadonlySet<string> | readonly string[],
): string {
  const wanted = key(id)
  const elsewhere = reference.known.get(wanted)
  if (elsewhere !== undefined) return `; it is ${elsewhere}`
  const said = reference.hints.get(ids) ?? new Map<string, string>()
  reference.hints.set(ids, said)
  const before = said.get(wanted)
  if (before !== undefined) return before
  const close = closeTo(wanted, ids instanceof Map ? (ids.keys() as Iterable<string>) : (ids as Iterable<string>))
  const half = close === undefined ? '' : `; ${named(reference, close)} is close to it`
  if (said.size < mostHints) said.set(wanted, half)
  return half
}

function closeTo(wanted: string, ids: Iterable<string>): string | undefined {
  for (const other of ids) if (differences(wanted, key(other)) <= likelyTypos) return other
  return undefined
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
