import { randomUUID } from 'node:crypto'
import type { Bench, TaskRun } from '../bench.ts'
import { objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { properties } from './reference-evidence.ts'
import { addressesIn } from './result-addresses.ts'
import { finish, isOpen, submit } from './task-run.ts'
import { listTasks } from './tasks-as-listed.ts'

/** The searches that are sent one right after the other, in this order. */
export const searchNames = [
  'calculators',
  'companies',
  'standards',
  'standardHolders',
  'frameworkAnswers',
  'calculatorsV1',
  'companiesV1',
  'standardsV1',
  'frameworkAnswersV1',
] as const
export type SearchName = (typeof searchNames)[number]

type Searches = {
  runs: Record<SearchName, TaskRun>
  /** The statuses of these tasks as the list of the newest tasks showed them, each time in the order of submission. */
  snapshots: (string | null)[][]
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
    const calculators = { [names.calculatorsSearch.customPropertyIds]: requestedPropertyIds }
    const companies = { [names.companiesSearch.customPropertyIds]: requestedPropertyIds }
    const answers = { [names.frameworkAnswersSearch.customPropertyIds]: requestedPropertyIds }
    const runs: Record<SearchName, TaskRun> = {
      calculators: await submit(bench, 'calculatorsSearch', endpoints.calculatorsSearch, calculators),
      companies: await submit(bench, 'companiesSearch', endpoints.companiesSearch, companies),
      standards: await submit(bench, 'standardsSearch', endpoints.standardsSearch, {}),
      standardHolders: await submit(bench, 'standardHoldersSearch', endpoints.standardHoldersSearch, {}),
      frameworkAnswers: await submit(bench, 'frameworkAnswersSearch', endpoints.frameworkAnswersSearch, answers),
      calculatorsV1: await submit(bench, 'calculatorsSearchV1', otherEndpoints.calculatorsSearchV1, calculators),
      companiesV1: await submit(bench, 'companiesSearchV1', otherEndpoints.companiesSearchV1, companies),
      standardsV1: await submit(bench, 'standardsSearchV1', otherEndpoints.standardsSearchV1, {}),
      frameworkAnswersV1: await submit(
        bench,
        'frameworkAnswersSearchV1',
        otherEndpoints.frameworkAnswersSearchV1,
        answers,
      ),
    }
    const inOrder = searchNames.map((name) => runs[name])
    const snapshots = [await snapshot(bench, inOrder)]
    const until = bench.now() + bench.limits.taskMs
    while (inOrder.some((run) => isOpen(bench, run)) && bench.now() < until) {
      const unfinished = inOrder.filter((run) => isOpen(bench, run))
      await finish({ ...bench, limits: { ...bench.limits, taskMs: 1 } }, unfinished)
      snapshots.push(await snapshot(bench, inOrder))
    }
    return { runs, snapshots, requestedPropertyIds }
  })
}

async function snapshot(bench: Bench, runs: readonly TaskRun[]): Promise<(string | null)[]> {
  const names = bench.contract.names.task
  const listed = objectsOf((await listTasks(bench)).json)
  const statusOf = new Map(listed.map((task) => [textOf(task[names.correlationId]), textOf(task[names.status])]))
  return runs.map((run) => (run.correlationId === null ? null : (statusOf.get(run.correlationId) ?? null)))
}

/** Narrower calculator searches: without properties for a type that is nowhere, and for one type that is there. */
export function narrowSearches(
  bench: Bench,
): Promise<{ nowhere: TaskRun; oneType: TaskRun | null; typeId: string | null }> {
  return bench.once('narrow searches', async () => {
    const { endpoints, names } = bench.contract
    const typeId = (await calculatorsSeen(bench))
      .map((calculator) => textOf(calculator[names.calculatorsPage.typeId]))
      .find((id) => id !== null)
    const search = (ids: string[]) =>
      submit(bench, 'calculatorsSearch', endpoints.calculatorsSearch, {
        [names.calculatorsSearch.calculatorTypeIds]: ids,
      })
    const nowhere = await search([randomUUID()])
    const oneType = typeId === undefined ? null : await search([typeId])
    await finish(bench, oneType === null ? [nowhere] : [nowhere, oneType])
    return { nowhere, oneType, typeId: typeId ?? null }
  })
}

/** Of the pages of one search, the first two and the last are looked at: a large search has hundreds. */
function looked(addresses: readonly string[]): string[] {
  return [...addresses.slice(0, 2), ...addresses.slice(2).slice(-1)]
}

export type Pages = { addresses: string[]; documents: unknown[] }

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
