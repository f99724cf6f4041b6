import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { CustomProperty, FrameworkDataPoint, FrameworkIndex, UnitType } from '../../../exchange/reference-data.ts'

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

/** Of rows that were judged before, bodies need the value types alone. */
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
    variableIds: new Set((source.variableIds ?? []).map(key)),
    rules,
  }
}

/** Ids are compared without regard to case: SQL Server writes them in capitals. */
export function key(id: string): string {
  return id.toLowerCase()
}

/** The data point with this id, in any case, if the service has one. */
export function dataPointOf(reference: ReferenceIndex, id: string | null): FrameworkDataPoint | undefined {
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
