import { randomUUID } from 'node:crypto'
import type { Bench, TaskRun } from '../bench.ts'
import type { Answer } from '../wire.ts'
import { at, objectsOf, type WireObject } from '../wire-json.ts'
import { findRecord, type Hotel, mappingEntry, nobody } from './hotel.ts'
import { properties } from './reference-evidence.ts'
import { otherPages, pagesOf } from './searches.ts'
import { fileAddressIn, runTask } from './task-run.ts'
import { omissionBody, tooManyOmissions, writeAnswers } from './written-answers.ts'
import { calculatorsBody, entryOfNobody } from './written-calculators.ts'

type WrittenMapping = {
  run: TaskRun
  file: unknown
  /** The hotel's values of the identifier, as the companies search shows them afterwards. */
  values: unknown
  /** Whether the hotel had the value of the identifier before: then that it has it proves nothing. */
  hadValue: boolean
}

/** Maps the hotel with the details that the service shows of it, and one id without details, which matches nothing. */
export function writeMapping(bench: Bench, hotel: Hotel): Promise<WrittenMapping> {
  return bench.once('written mapping', async () => {
    const run = await runTask(
      bench,
      'companyMappings',
      bench.contract.endpoints.companyMappings,
      mappingBody(bench, hotel),
    )
    const address = fileAddressIn(bench, run.task)
    const file = address === null ? null : await bench.wire.download(address)
    bench.note('companyMappingsResult', file)
    const before = at(hotel.record, bench.contract.names.companiesPage.fields, hotel.writing.customIdentifierId)
    const hadValue = Array.isArray(before) && before.includes(hotel.writing.identifier)
    return { run, file, values: await valuesAfter(bench, hotel), hadValue }
  })
}

async function valuesAfter(bench: Bench, { companyId, writing }: Hotel): Promise<unknown> {
  const { names, endpoints } = bench.contract
  const body = { [names.companiesSearch.customPropertyIds]: [writing.customIdentifierId] }
  const search = await runTask(bench, 'companiesSearch', endpoints.companiesSearch, body)
  const record = await findRecord(
    bench,
    search.task,
    names.companiesPage.companies,
    (one) => one[names.companiesPage.id] === companyId,
  )
  bench.note('companiesPage', { [names.companiesPage.companies]: [record] })
  return at(record, names.companiesPage.fields, writing.customIdentifierId)
}

function mappingBody(bench: Bench, hotel: Hotel): WireObject {
  const names = bench.contract.names.companyMappings
  return {
    [names.customIdentifierId]: hotel.writing.customIdentifierId,
    [names.companies]: [mappingEntry(bench, hotel), { [names.id]: nobody }],
  }
}

/** Stores the value that one property of the hotel has already, or a new one that is blanked again; and one bad row. */
export function writeProperties(bench: Bench, hotel: Hotel): Promise<TaskRun | string> {
  return bench.once('written properties', async () => {
    const { names, endpoints } = bench.contract
    const property = await propertyOf(bench, hotel)
    if (property === null) return 'the profile owns no custom property that is no identifier'
    const { id, values } = property
    const send = (rows: WireObject[]) =>
      runTask(bench, 'companiesUpsert', endpoints.companiesUpsert, {
        [names.companies.customIdentifierId]: hotel.writing.customIdentifierId,
        [names.companies.companies]: [valuesEntry(bench, hotel.writing.identifier, rows)],
      })
    const run = await send([...valueRows(bench, id, values ?? ['1']), ...valueRows(bench, randomUUID(), ['nowhere'])])
    if (values === null) await send(valueRows(bench, id, ['']))
    return run
  })
}

/** The property of the profile that is written to, and the values that the hotel had of it at first; null: none. */
async function propertyOf(bench: Bench, hotel: Hotel): Promise<{ id: string; values: string[] | null } | null> {
  const own = (await properties(bench)).filter(({ owned, isIdentifier }) => owned && !isIdentifier)
  const property = own.find(({ type }) => type === 'String') ?? own[0]
  if (!property) return null
  const held = at(hotel.record, bench.contract.names.companiesPage.fields, property.id)
  return { id: property.id, values: Array.isArray(held) && held.length > 0 ? held.map(String) : null }
}

function valueRows({ contract }: Bench, propertyId: string, values: readonly string[]): WireObject[] {
  const names = contract.names.companies
  return values.map((value) => ({ [names.propertyId]: propertyId, [names.value]: value }))
}

function valuesEntry({ contract }: Bench, identifier: string, rows: readonly WireObject[]): WireObject {
  const names = contract.names.companies
  return { [names.identifier]: identifier, [names.customProperties]: rows }
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
 * Rows of nobody, and once more the values that the mapped hotel has of a property. Without any, all rows must fail.
 */
export async function writeConsolidated(bench: Bench, hotel: Hotel): Promise<{ run: TaskRun; hasGoodRows: boolean }> {
  const { names, otherEndpoints } = bench.contract
  const property = await propertyOf(bench, hotel)
  const rows = property?.values ? valueRows(bench, property.id, property.values) : []
  if (rows.length > 0) await writeMapping(bench, hotel)
  const run = await runTask(bench, 'standardHoldersUpsertV1', otherEndpoints.standardHoldersUpsertV1, {
    [names.companies.customIdentifierId]: hotel.writing.customIdentifierId,
    [names.companies.companies]: [
      ...(rows.length > 0 ? [valuesEntry(bench, hotel.writing.identifier, rows)] : []),
      valuesEntry(bench, nobody, valueRows(bench, randomUUID(), ['nowhere'])),
    ],
    [names.standardHolders.holders]: [
      { [names.standardHolders.identifier]: nobody, [names.standardHolders.standardId]: randomUUID() },
    ],
  })
  return { run, hasGoodRows: rows.length > 0 }
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

/** The limit of the specification, and one row more: all rows name a company and a question that exist nowhere. */
const maxAnswers = 50_000

export function tooManyAnswers(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('too many answers', () => {
    const body = tooManyOmissions(bench, maxAnswers + 1, hotel.writing.year)
    const { frameworkAnswersUpsert } = bench.contract.endpoints
    return runTask(bench, 'frameworkAnswersUpsert', frameworkAnswersUpsert, body, { told: false })
  })
}

/** Ids without details in one request of some megabytes: nothing can match, nothing is stored. */
export function largeMapping(bench: Bench, hotel: Hotel): Promise<TaskRun> {
  return bench.once('large mapping', () => {
    const names = bench.contract.names.companyMappings
    const companies = Array.from({ length: 30_000 }, (_, index) => ({ [names.id]: `${nobody}-${index}` }))
    return runTask(bench, 'companyMappings', bench.contract.endpoints.companyMappings, {
      [names.customIdentifierId]: hotel.writing.customIdentifierId,
      [names.companies]: companies,
    })
  })
}
