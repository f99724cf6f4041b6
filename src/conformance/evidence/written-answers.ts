import { randomUUID } from 'node:crypto'
import { integerOf, monthName } from '../../exchange/wire-value.ts'
import type { Bench, TaskRun } from '../bench.ts'
import { objectsOf, type WireObject } from '../wire-json.ts'
import { findRecord, type Hotel } from './hotel.ts'
import { type DataPoint, type FrameworkTree, questionTrees } from './reference-evidence.ts'
import { addressesIn, runTask } from './task-run.ts'

/** What was sent of answers and omissions, and what came back. */
export type WrittenAnswers = {
  framework: FrameworkTree
  /** Kinds of value that were sent. */
  valueTypes: string[]
  dataPointIds: string[]
  questionId: string
  /** Good rows and bad ones, with the framework. */
  mixed: TaskRun
  /** One omission and nothing else. */
  withoutFramework: TaskRun
  /** Bad rows only. */
  failing: TaskRun
  /** Rows of the request that must fail, and those that must not. */
  badRows: number
  /** Whether the year is known to have been empty before: only then does what came back prove anything. */
  isFresh: boolean
  /** The hotel's periods of that year, as the framework answers search shows them afterwards. */
  stored: WireObject[]
}

/** Sends answers and omissions for the hotel; a sentence instead when the frameworks give nothing to answer. */
export function writeAnswers(bench: Bench, hotel: Hotel): Promise<WrittenAnswers | string> {
  return bench.once('written answers', async () => {
    const { endpoints } = bench.contract
    const framework = (await questionTrees(bench)).find(({ questionIds }) => questionIds.length > 1)
    const [first, second] = framework?.questionIds ?? []
    if (!framework || !first || !second) return 'no framework with two questions was seen'
    const points = framework.dataPoints
    const yearly = onePerType(points.filter(({ periodType }) => periodType !== monthlyOf(bench)))
    const monthly = points.find(({ periodType }) => periodType !== yearlyOf(bench))
    const names = bench.contract.names.frameworkAnswers
    const { year } = hotel.writing
    const answersOf = (list: DataPoint[]) => list.map((point) => answerTo(bench, point, year))
    const omission = (questionId: string) => ({ [names.questionId]: questionId })
    const good = [
      entry(bench, byValue(bench, hotel), [
        {
          ...period(bench, 'yearly', year),
          [names.answers]: answersOf(yearly),
          [names.omissions]: [omission(first)],
        },
        ...(monthly ? [{ ...period(bench, 'monthly', year, 3), [names.answers]: answersOf([monthly]) }] : []),
      ]),
      entry(bench, byId(bench, hotel.companyId), [
        { ...period(bench, 'yearly', year, 7), [names.omissions]: [omission(second)] },
      ]),
    ]
    const unknownAnswer = { [names.dataPointId]: randomUUID(), [names.answer]: { [names.boolean]: true } }
    const bad = [
      entry(bench, byValue(bench, hotel), [
        {
          ...period(bench, 'monthly', year, 5),
          [names.answers]: [unknownAnswer],
          [names.omissions]: [omission(randomUUID())],
        },
      ]),
      entry(bench, byId(bench, randomUUID()), [
        { ...period(bench, 'yearly', year), [names.omissions]: [omission(first)] },
      ]),
    ]
    const send = (body: WireObject) => runTask(bench, 'frameworkAnswersUpsert', endpoints.frameworkAnswersUpsert, body)
    const before = await storedPeriods(bench, hotel)
    const mixed = await send({ [names.frameworkId]: framework.id, [names.companies]: [...good, ...bad] })
    const withoutFramework = await send(omissionBody(bench, hotel, first))
    const failing = await send({ [names.companies]: bad })
    return {
      framework,
      valueTypes: yearly.map(({ valueType }) => valueType),
      dataPointIds: yearly.map(({ id }) => id),
      questionId: first,
      mixed,
      withoutFramework,
      failing,
      badRows: 3,
      isFresh: before?.length === 0,
      stored: (await storedPeriods(bench, hotel)) ?? [],
    }
  })
}

/** A request that only says that the hotel declines to answer one question. */
export function omissionBody(bench: Pick<Bench, 'contract'>, hotel: Hotel, questionId: string): WireObject {
  const names = bench.contract.names.frameworkAnswers
  const omitted = {
    ...period(bench, 'yearly', hotel.writing.year),
    [names.omissions]: [{ [names.questionId]: questionId }],
  }
  return { [names.companies]: [entry(bench, byId(bench, hotel.companyId), [omitted])] }
}

/** More rows than a request may contain; none of them can be stored, should they be taken all the same. */
export function tooManyOmissions({ contract }: Pick<Bench, 'contract'>, rows: number, year: number): WireObject {
  const names = contract.names.frameworkAnswers
  const omissions = Array.from({ length: rows }, () => ({ [names.questionId]: randomUUID() }))
  const periods = [{ [names.periodType]: names.yearly, [names.year]: year, [names.omissions]: omissions }]
  return {
    [names.companies]: [{ [names.identifiedBy]: { [names.companyId]: randomUUID() }, [names.periods]: periods }],
  }
}

const yearlyOf = ({ contract }: Bench) => contract.names.frameworkAnswers.yearly
const monthlyOf = ({ contract }: Bench) => contract.names.frameworkAnswers.monthly

function entry({ contract }: Pick<Bench, 'contract'>, identifiedBy: WireObject, periods: WireObject[]): WireObject {
  const names = contract.names.frameworkAnswers
  return { [names.identifiedBy]: identifiedBy, [names.periods]: periods }
}

function byId({ contract }: Pick<Bench, 'contract'>, companyId: string): WireObject {
  return { [contract.names.frameworkAnswers.companyId]: companyId }
}

function byValue({ contract }: Bench, { writing }: Hotel): WireObject {
  const names = contract.names.frameworkAnswers
  const property = { [names.customPropertyId]: writing.customIdentifierId, [names.value]: writing.identifier }
  return { [names.customProperty]: property }
}

function period(
  { contract }: Pick<Bench, 'contract'>,
  type: 'yearly' | 'monthly',
  year: number,
  month?: number,
): WireObject {
  const names = contract.names.frameworkAnswers
  const named = month === undefined ? {} : { [names.month]: monthName(month) }
  return { [names.periodType]: names[type], [names.year]: year, ...named }
}

function onePerType(points: readonly DataPoint[]): DataPoint[] {
  return [...new Map(points.toReversed().map((point) => [point.valueType, point])).values()]
}

function answerTo({ contract }: Bench, point: DataPoint, year: number): WireObject {
  const names = contract.names.frameworkAnswers
  const [unitId] = point.unitIds
  return {
    [names.dataPointId]: point.id,
    [names.answer]: valueFor(names, point, year),
    ...(unitId !== undefined && { [names.unitId]: unitId }),
  }
}

/** A harmless value of the data point's type; a type that is not known here is answered with text. */
function valueFor(names: Bench['contract']['names']['frameworkAnswers'], point: DataPoint, year: number): WireObject {
  switch (point.valueType.toLowerCase()) {
    case 'number':
      return { [names.number]: 1 }
    case 'boolean':
      return { [names.boolean]: true }
    case 'date':
      return { [names.dateIso]: `${year}-06-30` }
    case 'daterange':
      return { [names.dateRangeFrom]: `${year}-01-01`, [names.dateRangeTo]: `${year}-12-31` }
    case 'list':
      return { [names.list]: point.optionIds.slice(0, 1) }
    default:
      return { [names.text]: 'Nightferry conformance' }
  }
}

/** The hotel's periods of the year that is written to; null when the search listed no page. */
async function storedPeriods(bench: Bench, { companyId, writing }: Hotel): Promise<WireObject[] | null> {
  const { names, endpoints } = bench.contract
  const page = names.frameworkAnswersPage
  const body = { [names.frameworkAnswersSearch.customPropertyIds]: [writing.customIdentifierId] }
  const search = await runTask(bench, 'frameworkAnswersSearch', endpoints.frameworkAnswersSearch, body)
  if (addressesIn(bench, search.task).length === 0) return null
  const found = await findRecord(bench, search.task, page.companies, (company) => company[page.id] === companyId)
  bench.note('frameworkAnswersPage', { [page.companies]: [found] })
  return objectsOf(found?.[page.periods]).filter((one) => integerOf(one[page.year]) === writing.year)
}
