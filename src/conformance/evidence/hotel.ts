import type { Bench, Writing } from '../bench.ts'
import { at, objectsOf, textOf, type WireObject } from '../wire-json.ts'
import { groups, properties } from './reference-evidence.ts'
import { searches } from './searches.ts'
import { addressesIn } from './task-run.ts'

/** The company of the one hotel that may be written to, as the companies search shows it. */
export type Hotel = { companyId: string; record: WireObject; writing: Writing }

/** What cannot match any company: entries that carry it change nothing. */
export const nobody = 'nightferry-conformance-nobody'

/** Pages of a search that are read at most to find one company. */
const maxPages = 500

/** The first record of a list on the pages of a finished search that is wanted; undefined when none is. */
export async function findRecord(...search: Parameters<typeof findOnPage>): Promise<WireObject | undefined> {
  return (await findOnPage(...search))?.record
}

/** The same with the page on which it stands. */
export async function findOnPage(
  bench: Bench,
  task: unknown,
  listName: string,
  isWanted: (record: WireObject) => boolean,
): Promise<{ record: WireObject; page: unknown } | undefined> {
  for (const address of addressesIn(bench, task).slice(0, maxPages)) {
    const page = await bench.wire.download(address)
    const record = objectsOf(at(page, listName)).find(isWanted)
    if (record) return { record, page }
  }
  return undefined
}

/** The hotel; a sentence instead when it is not there to be found. */
export function findHotel(bench: Bench, writing: Writing): Promise<Hotel | string> {
  return bench.once('hotel', async () => {
    const names = bench.contract.names.companiesPage
    const { task } = (await searches(bench)).runs.companies
    const record = await findRecord(bench, task, names.companies, (one) => {
      const values = at(one, names.fields, writing.customIdentifierId)
      return one[names.id] === writing.companyId || (Array.isArray(values) && values.includes(writing.identifier))
    })
    const companyId = textOf(record?.[names.id])
    if (record !== undefined && companyId !== null) return { companyId, record, writing }
    return `no company of the companies search carries ${writing.identifier}: map it first, or name its company with --company`
  })
}

/**
 * In the sandbox any hotel will do: the first company, the first group, the first identifier. Null when one is missing.
 */
export async function chooseHotel(bench: Bench, year: number): Promise<Writing | null> {
  const groupId = objectsOf((await groups(bench)).json).flatMap(
    (group) => textOf(group[bench.contract.names.groups.id]) ?? [],
  )[0]
  const identifier = (await properties(bench)).find(({ isIdentifier, owned }) => isIdentifier && owned)
  const names = bench.contract.names.companiesPage
  const { task } = (await searches(bench)).runs.companies
  const record = await findRecord(bench, task, names.companies, (one) => textOf(one[names.id]) !== null)
  const companyId = textOf(record?.[names.id])
  if (groupId === undefined || identifier === undefined || companyId === null) return null
  const values = at(record, names.fields, identifier.id)
  const known: unknown = Array.isArray(values) ? values[0] : null
  return {
    groupId,
    customIdentifierId: identifier.id,
    identifier: textOf(known) ?? 'nightferry-conformance-hotel',
    companyId,
    fieldTypeId: null,
    year,
  }
}

/** The entry of a mapping request that finds the hotel: its details as the service itself shows them. */
export function mappingEntry({ contract }: Pick<Bench, 'contract'>, { record, writing }: Hotel): WireObject {
  const shown = contract.names.companiesPage
  const names = contract.names.companyMappings
  const coordinates = at(record, shown.coordinates)
  const details = {
    [names.name]: record[shown.name],
    [names.street]: record[shown.street],
    [names.coordinates]:
      coordinates === undefined || coordinates === null
        ? undefined
        : {
            [names.latitude]: at(coordinates, shown.latitude),
            [names.longitude]: at(coordinates, shown.longitude),
          },
    [names.countryCode]: record[shown.countryCode],
    [names.hotelCode]: record[shown.hotelCode],
    [names.bookingId]: record[shown.bookingId],
  }
  const given = Object.entries(details).filter(([, value]) => value !== undefined && value !== null)
  return { [names.id]: writing.identifier, ...Object.fromEntries(given) }
}
