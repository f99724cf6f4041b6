import { randomUUID } from 'node:crypto'
import type { Bench, TaskRun } from '../bench.ts'
import type { AnswerShape } from '../names/shapes.ts'
import { at, isSameId, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { properties } from './reference-evidence.ts'
import { addressesIn, finish, isOpen, listTasks, submit } from './task-run.ts'

/**
 * The searches that are sent one right after the other, in this order: the request, and the request by whose names it
 * asks for custom properties; null: it asks for nothing.
 */
const sentSearches = {
  calculators: ['calculatorsSearch', 'calculatorsSearch'],
  companies: ['companiesSearch', 'companiesSearch'],
  standards: ['standardsSearch', null],
  standardHolders: ['standardHoldersSearch', null],
  frameworkAnswers: ['frameworkAnswersSearch', 'frameworkAnswersSearch'],
  calculatorsV1: ['calculatorsSearchV1', 'calculatorsSearch'],
  companiesV1: ['companiesSearchV1', 'companiesSearch'],
  standardsV1: ['standardsSearchV1', null],
  frameworkAnswersV1: ['frameworkAnswersSearchV1', 'frameworkAnswersSearch'],
} as const
type SearchName = keyof typeof sentSearches
export const searchNames = Object.keys(sentSearches) as SearchName[]

/** One look at the list of the newest tasks: what it said of ours, null where it did not, and how many it listed. */
export type Snapshot = { statuses: (string | null)[]; listed: number }

export type Searches = {
  runs: Record<SearchName, TaskRun>
  /**
   * The statuses of these tasks as the list of the newest tasks showed them, in the order of submission: first right
   * after the last submission, and last when all had ended. Where the list was refused there is none.
   */
  snapshots: Snapshot[]
  /** The properties that were asked for; the last one exists nowhere. */
  requestedPropertyIds: string[]
}

/**
 * Sends every search once and waits for all. They change nothing but the list of tasks. They are sent without a pause,
 * so that they are in flight together and the order in which they are picked up can be seen.
 */
export function searches(bench: Bench): Promise<Searches> {
  return bench.once('searches', async () => {
    const { endpoints, otherEndpoints, names } = bench.contract
    const requestedPropertyIds = [...(await properties(bench)).map(({ id }) => id), randomUUID()]
    const sent: [SearchName, TaskRun][] = []
    for (const name of searchNames) {
      const [request, asking] = sentSearches[name]
      const body = asking === null ? {} : { [names[asking].customPropertyIds]: requestedPropertyIds }
      sent.push([name, await submit(bench, request, { ...endpoints, ...otherEndpoints }[request], body)])
    }
    const runs = Object.fromEntries(sent) as Record<SearchName, TaskRun>
    const inOrder = searchNames.map((name) => runs[name])
    const snapshots = await snapshot(bench, inOrder)
    const until = bench.now() + bench.limits.taskMs
    while (inOrder.some((run) => isOpen(bench, run)) && bench.now() < until) {
      const unfinished = inOrder.filter((run) => isOpen(bench, run))
      await finish({ ...bench, limits: { ...bench.limits, taskMs: 1 } }, unfinished)
      snapshots.push(...(await snapshot(bench, inOrder)))
    }
    return { runs, snapshots, requestedPropertyIds }
  })
}

async function snapshot(bench: Bench, runs: readonly TaskRun[]): Promise<Snapshot[]> {
  const names = bench.contract.names.task
  const { status, json } = await listTasks(bench)
  if (status !== 200) return []
  const listed = objectsOf(json)
  const statusOf = new Map(
    listed.map((task) => [textOf(task[names.correlationId])?.toLowerCase(), textOf(task[names.status])]),
  )
  const statuses = runs.map(({ correlationId }) =>
    correlationId === null ? null : (statusOf.get(correlationId.toLowerCase()) ?? null),
  )
  return [{ statuses, listed: listed.length }]
}

type NarrowSearches = {
  nowhere: TaskRun
  oneType: TaskRun | null
  typeId: string | null
  /** The same search, and without a type where no calculator is there. */
  selected: TaskRun | null
  /** A property of the profile for which `selected` does not ask, one with values if any; null: it asks for none. */
  leftOut: string | null
}

/**
 * Narrower calculator searches: without properties for a type that is nowhere, and for one type that is there with all
 * properties but one.
 */
export function narrowSearches(bench: Bench): Promise<NarrowSearches> {
  return bench.once('narrow searches', async () => {
    const { endpoints, names } = bench.contract
    const typeId = (await calculatorsSeen(bench))
      .map((calculator) => textOf(calculator[names.calculatorsPage.typeId]))
      .find((id) => id !== null)
    const shown = (await companiesSeen(bench)).flatMap((company) =>
      Object.keys(at(company, names.calculatorsPage.fields) ?? {}),
    )
    const own = (await properties(bench)).find(({ saysOwned }) => saysOwned)
    const leftOut = shown[0] ?? own?.id ?? null
    const { requestedPropertyIds } = await searches(bench)
    const others = requestedPropertyIds.filter((id) => !isSameId(id, leftOut))
    const { calculatorTypeIds, customPropertyIds } = names.calculatorsSearch
    const search = (types: string[] | null, propertyIds: string[] | null) =>
      submit(bench, 'calculatorsSearch', endpoints.calculatorsSearch, {
        ...(types !== null && { [calculatorTypeIds]: types }),
        ...(propertyIds !== null && { [customPropertyIds]: propertyIds }),
      })
    const nowhere = await search([randomUUID()], null)
    const isSelective = typeId !== undefined || leftOut !== null
    const selected = isSelective
      ? await search(typeId === undefined ? null : [typeId], leftOut === null ? null : others)
      : null
    await finish(bench, selected === null ? [nowhere] : [nowhere, selected])
    const oneType = typeId === undefined ? null : selected
    return { nowhere, selected, oneType, typeId: typeId ?? null, leftOut }
  })
}

/** Of the pages of one search, the first two and the last are looked at: a large search has hundreds. */
function looked(addresses: readonly string[]): string[] {
  return [...addresses.slice(0, 2), ...addresses.slice(2).slice(-1)]
}

type Pages = { addresses: string[]; documents: unknown[] }

/** The first pages of a finished search, and its last. */
export function pagesOf(bench: Bench, run: TaskRun): Promise<Pages> {
  return bench.once(`pages of ${run.correlationId}`, async () => {
    const addresses = addressesIn(bench, run.task)
    const documents: unknown[] = []
    for (const address of looked(addresses)) documents.push(await bench.wire.download(address))
    return { addresses, documents }
  })
}

/** The pages of the full calculator search, noted. */
export function calculatorPages(bench: Bench): Promise<Pages> {
  return bench.once('calculator pages', async () => {
    const pages = await pagesOf(bench, (await searches(bench)).runs.calculators)
    for (const page of pages.documents) bench.note('calculatorsPage', page)
    return pages
  })
}

export async function companiesSeen(bench: Bench): Promise<WireObject[]> {
  const { companies } = bench.contract.names.calculatorsPage
  const { documents } = await calculatorPages(bench)
  return documents.flatMap((page) => objectsOf((page as WireObject | null)?.[companies]))
}

export async function calculatorsSeen(bench: Bench): Promise<WireObject[]> {
  const { calculators } = bench.contract.names.calculatorsPage
  return (await companiesSeen(bench)).flatMap((company) => objectsOf(company[calculators]))
}

/** The searches whose pages the specification does not show, and what their pages are. */
const otherSearches = {
  companies: 'companiesPage',
  standards: 'standardsPage',
  standardHolders: 'standardHoldersPage',
  frameworkAnswers: 'frameworkAnswersPage',
} as const satisfies Partial<Record<SearchName, AnswerShape>>
type OtherSearch = keyof typeof otherSearches
export const otherSearchNames = Object.keys(otherSearches) as OtherSearch[]

/** The first pages of one of these searches, noted. */
export function otherPages(bench: Bench, search: OtherSearch): Promise<Pages> {
  return bench.once(`noted pages of ${search}`, async () => {
    const pages = await pagesOf(bench, (await searches(bench)).runs[search])
    for (const page of pages.documents) bench.note(otherSearches[search], page)
    return pages
  })
}
