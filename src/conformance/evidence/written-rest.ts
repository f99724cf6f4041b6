import { randomUUID } from 'node:crypto'
import type { Bench, TaskRun } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { at, isObject, isSameId, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { findOnPage, findRecord, type Hotel, mappingEntry, nobody } from './hotel.ts'
import { properties } from './reference-evidence.ts'
import { otherPages, pagesOf } from './searches.ts'
import { fileAddressIn, runTask, submit } from './task-run.ts'
import { omissionBody, rowsOfNobody, writeAnswers } from './written-answers.ts'
import { calculatorsBody, entryOfNobody } from './written-calculators.ts'

type WrittenMapping = {
  run: TaskRun
  file: unknown
  /** The hotel's values of the identifier afterwards; null where the calculator search does not show them. */
  values: string[] | null
  /** Whether the hotel may have had the value of the identifier before: then that it has it proves nothing. */
  hadValue: boolean
}

/** Maps the hotel with the details that the service shows of it, and one id with a name that matches nothing. */
export function writeMapping(bench: Bench, hotel: Hotel): Promise<WrittenMapping> {
  return bench.once('written mapping', async () => {
    const { customIdentifierId, identifier } = hotel.writing
    const valuesNow = async () =>
      (await valuesOf(bench, hotel, [customIdentifierId])).get(customIdentifierId.toLowerCase()) ?? null
    const before = await valuesNow()
    const run = await runTask(
      bench,
      'companyMappings',
      bench.contract.endpoints.companyMappings,
      mappingBody(bench, hotel),
    )
    const address = fileAddressIn(bench, run.task)
    const file = address === null ? null : await bench.wire.download(address)
    bench.note('companyMappingsResult', file)
    await noteCompany(bench, hotel)
    return { run, file, values: await valuesNow(), hadValue: before?.includes(identifier) ?? true }
  })
}

/** Looks at the hotel's record of the companies search for the names in it: it has values by now. */
async function noteCompany(bench: Bench, { companyId, writing }: Hotel): Promise<void> {
  const { names, endpoints } = bench.contract
  const page = names.companiesPage
  const body = { [names.companiesSearch.customPropertyIds]: [writing.customIdentifierId] }
  const search = await runTask(bench, 'companiesSearch', endpoints.companiesSearch, body)
  const record = await findRecord(bench, search.task, page.companies, (one) => isSameId(one[page.id], companyId))
  bench.note('companiesPage', { [page.companies]: [record] })
}

function mappingBody(bench: Bench, hotel: Hotel): WireObject {
  const names = bench.contract.names.companyMappings
  return {
    [names.customIdentifierId]: hotel.writing.customIdentifierId,
    [names.companies]: [mappingEntry(bench, hotel), { [names.id]: nobody, [names.name]: nobody }],
  }
}

/** Stores the value that one property of the hotel has already, or a new one that is blanked again. */
export function writeProperties(bench: Bench, hotel: Hotel): Promise<TaskRun | string> {
  return bench.once('written properties', async () => {
    const { names, endpoints } = bench.contract
    const property = await propertyOf(bench, hotel)
    if (typeof property === 'string') return property
    const { id, value } = property
    const bodyOf = (sent: string) => ({
      [names.companies.customIdentifierId]: hotel.writing.customIdentifierId,
      [names.companies.companies]: [valueEntry(bench, hotel.writing.identifier, id, sent)],
    })
    const send = (sent: string) => runTask(bench, 'companiesUpsert', endpoints.companiesUpsert, bodyOf(sent))
    let isBack = value !== null
    bench.atEnd(async () => {
      if (!isBack) await bench.wire.call(endpoints.companiesUpsert, { body: bodyOf('') })
    })
    const run = await send(value ?? '1')
    if (value === null) isBack = (await send('')).task !== null
    return run
  })
}

/**
 * The property of the profile that is written to, and the value that the hotel has of it now; null: none. The
 * calculator search alone is stated to show it: what no page of it shows is not taken for absent, lest a value be
 * written over. One of several values could not be written back alone. A sentence instead where none is sure.
 */
async function propertyOf(bench: Bench, hotel: Hotel): Promise<{ id: string; value: string | null } | string> {
  const own = (await properties(bench)).filter(({ owned, isIdentifier }) => owned && !isIdentifier)
  if (own.length === 0) return 'the profile owns no custom property that is no identifier'
  const values = await valuesOf(
    bench,
    hotel,
    own.map(({ id }) => id),
  )
  const sure = own.filter(({ id }) => (values.get(id.toLowerCase())?.length ?? 2) < 2)
  const property = sure.find(({ type }) => type === 'String') ?? sure[0]
  if (property === undefined)
    return 'the calculator search does not show what the hotel has of a custom property, or shows several values'
  return { id: property.id, value: values.get(property.id.toLowerCase())?.[0] ?? null }
}

/**
 * The hotel's values of these properties as the calculator search shows them now, by id in small letters
 * (specification, Calculator search result page). A property that its page does not list is left out: nothing is
 * known of it.
 */
async function valuesOf(bench: Bench, { companyId }: Hotel, ids: readonly string[]): Promise<Map<string, string[]>> {
  const { names, endpoints } = bench.contract
  const page = names.calculatorsPage
  const body = { [names.calculatorsSearch.customPropertyIds]: ids }
  const search = await runTask(bench, 'calculatorsSearch', endpoints.calculatorsSearch, body)
  const found = await findOnPage(bench, search.task, page.companies, (one) => isSameId(one[page.id], companyId))
  if (found === undefined) return new Map()
  const fields = found.record[page.fields] ?? {}
  if (!isObject(fields)) return new Map()
  const shown = new Map(Object.entries(fields).map(([id, values]) => [id.toLowerCase(), values]))
  return new Map(
    objectsOf(at(found.page, page.customProperties)).flatMap((property): [string, string[]][] => {
      const id = textOf(property[page.id])?.toLowerCase()
      if (id === undefined) return []
      const values = shown.get(id) ?? []
      return Array.isArray(values) ? [[id, values.map(String)]] : []
    }),
  )
}

/** A company with one value of one property. */
function valueEntry({ contract }: Bench, identifier: string, propertyId: string, value: string): WireObject {
  const names = contract.names.companies
  const row = { [names.propertyId]: propertyId, [names.value]: value }
  return { [names.identifier]: identifier, [names.customProperties]: [row] }
}

/**
 * One standard for an identifier that nobody has: the row fails and nothing is stored. In the sandbox, which may be
 * written to freely, the hotel itself is given the standard too.
 */
export function writeHolders(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('written holders', async () => {
    const { names, endpoints } = bench.contract
    const pages = (await otherPages(bench, 'standards')).documents
    const [standard] = pages.flatMap((page) => objectsOf(at(page, names.standardsPage.standards)))
    const levels = standard?.[names.standardsPage.levels]
    const holder = (identifier: string) => ({
      [names.standardHolders.identifier]: identifier,
      [names.standardHolders.standardId]: standard?.[names.standardsPage.id] ?? randomUUID(),
      ...(Array.isArray(levels) && levels.length > 0 && { [names.standardHolders.level]: levels[0] }),
      [names.standardHolders.startDate]: `${hotel.writing.year}-01-01`,
      [names.standardHolders.expiryDate]: `${hotel.writing.year}-12-31`,
    })
    const run = await runTask(bench, 'standardHoldersUpsert', endpoints.standardHoldersUpsert, {
      [names.standardHolders.customIdentifierId]: hotel.writing.customIdentifierId,
      [names.standardHolders.holders]: [nobody, ...(bench.administration ? [hotel.writing.identifier] : [])].map(
        holder,
      ),
    })
    if (bench.administration) {
      const search = await runTask(bench, 'standardHoldersSearch', endpoints.standardHoldersSearch, {})
      for (const page of (await pagesOf(bench, search)).documents) bench.note('standardHoldersPage', page)
    }
    return run
  })
}

/** The omission once more that the successor was sent; a sentence instead where it was sent none. */
export async function writeDeprecatedAnswers(bench: Bench, hotel: Hotel): Promise<TaskRun | string> {
  const answers = await writeAnswers(bench, hotel)
  if (typeof answers === 'string') return answers
  const { performanceAnswersUpsertV1 } = bench.contract.otherEndpoints
  const body = omissionBody(bench, hotel, answers.questionId)
  return runTask(bench, 'performanceAnswersUpsertV1', performanceAnswersUpsertV1, body)
}

/** The mapping of the hotel once more. */
export function writeDeprecatedMapping(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  const { companiesUpsertV1 } = bench.contract.otherEndpoints
  return runTask(bench, 'companiesUpsertV1', companiesUpsertV1, mappingBody(bench, hotel))
}

/**
 * Rows of nobody, and once more the value that the mapped hotel has of a property. A property that the
 * profile cannot use costs the whole request (specification, Authentication 3): none is named.
 */
export async function writeConsolidated(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  const { names, otherEndpoints } = bench.contract
  const property = await propertyOf(bench, hotel)
  const [own] = (await properties(bench)).filter(({ owned, isIdentifier }) => owned && !isIdentifier)
  const good =
    typeof property === 'string' || property.value === null
      ? []
      : [valueEntry(bench, hotel.writing.identifier, property.id, property.value)]
  if (good.length > 0) await writeMapping(bench, hotel)
  return runTask(bench, 'standardHoldersUpsertV1', otherEndpoints.standardHoldersUpsertV1, {
    [names.companies.customIdentifierId]: hotel.writing.customIdentifierId,
    ...(own !== undefined && {
      [names.companies.companies]: [...good, valueEntry(bench, nobody, own.id, '1')],
    }),
    [names.standardHolders.holders]: [
      { [names.standardHolders.identifier]: nobody, [names.standardHolders.standardId]: randomUUID() },
    ],
  })
}

type Refusals = Record<'noGroup' | 'noIdentifier' | 'foreignGroup' | 'foreignIdentifier' | 'again', Answer>

/**
 * Calculator upserts of nobody that must be refused: an id that is missing, or belongs to nobody; one of them
 * twice.
 */
export function refusedUpserts(bench: Bench, hotel: Hotel): Promise<Refusals> {
  return bench.once('refused upserts', async () => {
    const { names, endpoints } = bench.contract
    const whole = calculatorsBody(bench, hotel, [entryOfNobody(bench, hotel)])
    const without = (name: string) => Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name))
    const send = async (body: WireObject) => {
      const answer = await bench.wire.call(endpoints.calculatorsUpsert, { body })
      bench.note(answer.status < 300 ? 'submitted' : 'error', answer.json)
      return answer
    }
    const { groupId, customIdentifierId } = names.calculators
    return {
      noGroup: await send(without(groupId)),
      noIdentifier: await send(without(customIdentifierId)),
      foreignGroup: await send({ ...whole, [groupId]: randomUUID() }),
      foreignIdentifier: await send({ ...whole, [customIdentifierId]: randomUUID() }),
      again: await send(without(groupId)),
    }
  })
}

/** The limit of the specification: all rows name a company, and a data point or question, that exist nowhere. */
const maxAnswers = 50_000

/** As many rows as a request may contain, of nobody; what becomes of its task is not waited for. */
export function mostAnswers(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('most answers', () => {
    const body = rowsOfNobody(bench, maxAnswers, hotel.writing.year)
    const { frameworkAnswersUpsert } = bench.contract.endpoints
    return submit(bench, 'frameworkAnswersUpsert', frameworkAnswersUpsert, body, { told: false })
  })
}

export function tooManyAnswers(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('too many answers', () => {
    const body = rowsOfNobody(bench, maxAnswers + 1, hotel.writing.year)
    const { frameworkAnswersUpsert } = bench.contract.endpoints
    return runTask(bench, 'frameworkAnswersUpsert', frameworkAnswersUpsert, body, { told: false })
  })
}

/** Names that nothing has, in one request of some megabytes: nothing can match, nothing is stored. */
export function largeMapping(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('large mapping', () => {
    const names = bench.contract.names.companyMappings
    const companies = Array.from({ length: 30_000 }, (_, index) => ({
      [names.id]: `${nobody}-${index}`,
      [names.name]: `${nobody}-${index}`,
    }))
    return runTask(bench, 'companyMappings', bench.contract.endpoints.companyMappings, {
      [names.customIdentifierId]: hotel.writing.customIdentifierId,
      [names.companies]: companies,
    })
  })
}
