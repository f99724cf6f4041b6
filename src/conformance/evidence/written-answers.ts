import { randomUUID } from 'node:crypto'
import { integerOf, monthName, monthNumber } from '../../exchange/wire-value.ts'
import type { Bench, TaskRun } from '../bench.ts'
import { at, isSameId, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { findRecord, type Hotel } from './hotel.ts'
import { type DataPoint, type FrameworkTree, questionTrees } from './reference-evidence.ts'
import { otherPages } from './searches.ts'
import { addressesIn, runTask } from './task-run.ts'

/** A reporting period of the hotel as it was sent. */
type SentPeriod = {
  type: 'yearly' | 'monthly'
  /** From 1 to 12; January is left out of what is sent. */
  month: number
  /** What names the hotel. */
  by: 'value' | 'id'
  hasFramework: boolean
  answers: WireObject[]
  /** Questions that are declined: none of those that are answered. */
  declined: string[]
}

/** What was sent of answers and omissions, and what came back. */
export type WrittenAnswers = {
  framework: FrameworkTree
  /** What should be stored: all of `mixed` but its bad rows, and of `withoutFramework`. */
  sent: SentPeriod[]
  /** The question that January declines. */
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
  /**
   * The hotel's periods of that year, as the framework answers search shows them afterwards; null where nothing on its
   * pages, which the specification does not show, has periods by our name.
   */
  stored: WireObject[] | null
  /** What those pages show of periods at all, of the hotel or of others. */
  shown: Record<'omissions' | 'frameworkIds', boolean>
}

/** Sends answers and omissions for the hotel; a sentence instead when the frameworks give nothing to answer. */
export function writeAnswers(bench: Bench, hotel: Hotel): Promise<WrittenAnswers | string> {
  return bench.once('written answers', async () => {
    const trees = (await questionTrees(bench)).filter(({ questionIds }) => questionIds.length > 1)
    const framework = trees.find(({ dataPoints }) => takesBoth(bench, dataPoints)) ?? trees[0]
    if (!framework) return 'no framework with two questions was seen'
    const [first, second] = declinedOf(bench, framework)
    const sent = periodsToSend(bench, framework, { first, second, year: hotel.writing.year })
    const { endpoints } = bench.contract
    const names = bench.contract.names.frameworkAnswers
    const send = (companies: WireObject[], more: WireObject = {}) =>
      runTask(bench, 'frameworkAnswersUpsert', endpoints.frameworkAnswersUpsert, {
        ...more,
        [names.companies]: companies,
      })
    const good = (['value', 'id'] as const).map((by) =>
      sentEntry(
        bench,
        hotel,
        sent.filter((period) => period.hasFramework && period.by === by),
      ),
    )
    const bad = badEntries(bench, hotel, first)
    const before = await storedPeriods(bench, hotel)
    const mixed = await send([...good, ...bad], { [names.frameworkId]: framework.id })
    const withoutFramework = await send([
      sentEntry(
        bench,
        hotel,
        sent.filter(({ hasFramework }) => !hasFramework),
      ),
    ])
    const failing = await send(bad)
    const after = await storedPeriods(bench, hotel)
    return {
      framework,
      sent,
      questionId: first,
      mixed,
      withoutFramework,
      failing,
      badRows: 3,
      isFresh: before?.length === 0,
      ...(await whatIsShown(bench, after)),
    }
  })
}

/** What came back of a period. A yearly one without a month begins in January; months are read in any case. */
export function cameBack(
  { contract }: Pick<Bench, 'contract'>,
  { stored }: Pick<WrittenAnswers, 'stored'>,
  { type, month }: Pick<SentPeriod, 'type' | 'month'>,
): WireObject[] {
  const names = contract.names.frameworkAnswersPage
  const isIn = (named: unknown) =>
    named === undefined || named === null
      ? type === 'yearly' && month === 1
      : monthNumber(textOf(named) ?? '') === month
  return (stored ?? []).filter(
    (period) => period[names.periodType] === contract.names.frameworkAnswers[type] && isIn(period[names.month]),
  )
}

/** Whether anything of a period came back in its place: one of its answers, or a question that it declines. */
export function isKept(bench: Pick<Bench, 'contract'>, written: WrittenAnswers, sent: SentPeriod): boolean {
  const names = bench.contract.names.frameworkAnswersPage
  const answered = sent.answers.map((answer) => answer[bench.contract.names.frameworkAnswers.dataPointId])
  return cameBack(bench, written, sent).some(
    (period) =>
      objectsOf(period[names.answers]).some((one) => answered.some((id) => isSameId(one[names.dataPointId], id))) ||
      objectsOf(period[names.omissions]).some((one) => sent.declined.some((id) => isSameId(one[names.questionId], id))),
  )
}

/**
 * Two questions to decline; those besides the first can be answered yearly, where there are any that can. The
 * specification does not say what a service does with a question that is answered and declined for one period.
 */
function declinedOf(bench: Bench, { questionIds, dataPoints }: FrameworkTree): [string, string] {
  const yearly = dataPoints.filter((point) => takes(bench, point, 'yearly'))
  const first = questionIds.find((id) => yearly.some(({ questionId }) => questionId !== id)) ?? questionIds[0] ?? ''
  return [first, questionIds.find((id) => id !== first) ?? first]
}

function periodsToSend(
  bench: Bench,
  { dataPoints }: FrameworkTree,
  { first, second, year }: { first: string; second: string; year: number },
): SentPeriod[] {
  const free = dataPoints.filter(({ questionId }) => questionId !== first)
  const yearly = onePerType(free.filter((point) => takes(bench, point, 'yearly')))
  const monthly = dataPoints.filter((point) => takes(bench, point, 'monthly')).slice(0, 1)
  const answersOf = (points: DataPoint[]) => points.map((point) => answerTo(bench, point, year))
  const periods: SentPeriod[] = [
    { type: 'yearly', month: 1, by: 'value', hasFramework: true, answers: answersOf(yearly), declined: [first] },
    { type: 'monthly', month: 3, by: 'value', hasFramework: true, answers: answersOf(monthly), declined: [] },
    { type: 'yearly', month: 7, by: 'id', hasFramework: true, answers: [], declined: [second] },
    { type: 'yearly', month: 10, by: 'id', hasFramework: false, answers: [], declined: [first] },
  ]
  return periods.filter(({ answers, declined }) => answers.length + declined.length > 0)
}

function takes(bench: Bench, { periodType }: DataPoint, type: 'yearly' | 'monthly'): boolean {
  const { yearly, monthly } = bench.contract.names.frameworkAnswers
  return periodType !== (type === 'yearly' ? monthly : yearly)
}

function takesBoth(bench: Bench, points: readonly DataPoint[]): boolean {
  return (['yearly', 'monthly'] as const).every((type) => points.some((point) => takes(bench, point, type)))
}

/** The hotel with these periods, which name it alike. */
function sentEntry(bench: Bench, hotel: Hotel, periods: readonly SentPeriod[]): WireObject {
  const names = bench.contract.names.frameworkAnswers
  const bodies = periods.map(({ type, month, answers, declined }) => ({
    ...period(bench, type, hotel.writing.year, month === 1 ? undefined : month),
    ...(answers.length > 0 && { [names.answers]: answers }),
    ...(declined.length > 0 && { [names.omissions]: declined.map((id) => ({ [names.questionId]: id })) }),
  }))
  const isByValue = periods.some(({ by }) => by === 'value')
  return entry(bench, isByValue ? byValue(bench, hotel) : byId(bench, hotel.companyId), bodies)
}

/** Three rows that must fail: of nothing that exists, and of a company that does not. */
function badEntries(bench: Bench, hotel: Hotel, questionId: string): WireObject[] {
  const names = bench.contract.names.frameworkAnswers
  const { year } = hotel.writing
  const omission = (id: string) => ({ [names.questionId]: id })
  return [
    entry(bench, byValue(bench, hotel), [
      {
        ...period(bench, 'monthly', year, 5),
        [names.answers]: [unknownAnswer(names)],
        [names.omissions]: [omission(randomUUID())],
      },
    ]),
    entry(bench, byId(bench, randomUUID()), [
      { ...period(bench, 'yearly', year), [names.omissions]: [omission(questionId)] },
    ]),
  ]
}

/** A request that only says that the hotel declines to answer one question for the year that begins in January. */
export function omissionBody(bench: Pick<Bench, 'contract'>, hotel: Hotel, questionId: string): WireObject {
  const names = bench.contract.names.frameworkAnswers
  const omitted = {
    ...period(bench, 'yearly', hotel.writing.year),
    [names.omissions]: [{ [names.questionId]: questionId }],
  }
  return { [names.companies]: [entry(bench, byId(bench, hotel.companyId), [omitted])] }
}

/** So many rows, none of which can be stored: half of them answers, because the limit counts both together. */
export function rowsOfNobody({ contract }: Pick<Bench, 'contract'>, rows: number, year: number): WireObject {
  const names = contract.names.frameworkAnswers
  const answers = Math.floor(rows / 2)
  const reported = {
    [names.periodType]: names.yearly,
    [names.year]: year,
    [names.answers]: Array.from({ length: answers }, () => unknownAnswer(names)),
    [names.omissions]: Array.from({ length: rows - answers }, () => ({ [names.questionId]: randomUUID() })),
  }
  return {
    [names.companies]: [{ [names.identifiedBy]: { [names.companyId]: randomUUID() }, [names.periods]: [reported] }],
  }
}

/** An answer to a data point that does not exist. */
function unknownAnswer(names: Bench['contract']['names']['frameworkAnswers']): WireObject {
  return { [names.dataPointId]: randomUUID(), [names.answer]: { [names.boolean]: true } }
}

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
  const found = await findRecord(bench, search.task, page.companies, (company) => isSameId(company[page.id], companyId))
  bench.note('frameworkAnswersPage', { [page.companies]: [found] })
  return objectsOf(found?.[page.periods]).filter((one) => integerOf(one[page.year]) === writing.year)
}

/** Whether the pages have periods, omissions and frameworks by our names, in what was stored or in what came by. */
async function whatIsShown(
  bench: Bench,
  periods: WireObject[] | null,
): Promise<Pick<WrittenAnswers, 'stored' | 'shown'>> {
  const names = bench.contract.names.frameworkAnswersPage
  const companies = (await otherPages(bench, 'frameworkAnswers')).documents.flatMap((page) =>
    objectsOf(at(page, names.companies)),
  )
  const all = [...(periods ?? []), ...companies.flatMap((company) => objectsOf(company[names.periods]))]
  const has = (name: string) => all.some((period) => Array.isArray(period[name]) && period[name].length > 0)
  return {
    stored: periods === null || all.length === 0 ? null : periods,
    shown: { omissions: has(names.omissions), frameworkIds: has(names.frameworkIds) },
  }
}
