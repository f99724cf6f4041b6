import type { Transaction } from 'kysely'
import type pg from 'pg'
import { type Database, Turns } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import { createDirectWriter } from '../merge/direct-writer.ts'
import { createKeyBlocks, createNameKeys, makeListedNames, nextListingKey } from '../merge/key-blocks.ts'
import { type ContentHash, keepListing, markUnselectedSeen, markWholeSeen } from '../merge/known-companies.ts'
import { type MergeOptions, mergePage, type PageCounts } from '../merge/merge-page.ts'
import { createStagingWriter, type StagingWriter } from '../merge/staging-tables.ts'
import { createPageStager } from '../stage-page.ts'
import { BatchMemory } from './batch-memory.ts'
import {
  type AskedBatch,
  askWhichAreUnchanged,
  type CompanyElement,
  CompanyReading,
  type ReadBatch,
  UnchangedCompanies,
  writeCompanies,
} from './company-batches.ts'
import { CompanyShortcut } from './company-shortcut.ts'
import { DirectCompanies } from './direct-companies.ts'
import { ExpectedCompanies, type MetCompany } from './expected-companies.ts'
import { maxNames, NameIndex } from './name-index.ts'
import { checkListed, checkShownOnce, findTrouble, NeedsCare } from './needs-care.ts'
import { PlainCompanyReader } from './plain-company.ts'

/**
 * Companies that go on together, and about how many bytes of them; three such batches are in memory. The first batch is
 * small, so that the server soon has something to do, and each of the next is twice as large.
 */
const batchCompanies = { first: 16, most: 256 }
const batchBytes = { first: 64 * 1024, most: 1024 * 1024 }

/** Bytes of the page after which companies go on, however few: what is written waits for the page's end otherwise. */
const stretchBytes = 4 * batchBytes.most

type FastLoad = {
  trx: Transaction<Schema>
  /** The connection of the transaction. */
  client: pg.ClientBase
  /** Another connection, for what is looked up while the first one copies: committed rows alone, or keys. */
  aside: Database
  contract: Contract
  limits: PageLimits
  hashOf: ContentHash
  merge: Omit<MergeOptions, 'companiesStaged' | 'listingKey' | 'unchangedKeys'>
}

/** Where the companies of a page go. */
type Destinations = {
  names: { variables: NameIndex; properties: NameIndex }
  staging: StagingWriter
  direct: DirectCompanies
  unchanged: UnchangedCompanies
  listingKey: Promise<number>
}

/**
 * Loads a page, company by company: one whose bytes are known is only marked as seen, a new one goes straight into the
 * tables, one that changed is staged and merged at the end.
 *
 * @throws {NeedsCare} when the page holds what only a load with care can do.
 */
export async function loadFast(
  piecesOf: (shortcut: CompanyShortcut) => AsyncIterable<readonly (CompanyElement | MetCompany)[]>,
  load: FastLoad,
): Promise<Omit<PageCounts, 'bytes'>> {
  const { trx, client, aside, contract, merge } = load
  const turns = new Turns()
  const staging = createStagingWriter(client, turns)
  const stager = createPageStager(staging, contract)
  const writer = createDirectWriter(client, turns)
  const names = {
    variables: new NameIndex(createNameKeys(aside, 'variable')),
    properties: new NameIndex(createNameKeys(aside, 'property')),
  }
  const direct = new DirectCompanies(writer, createKeyBlocks(aside), names)
  const unchanged = new UnchangedCompanies(trx, merge.submissionId, turns)
  // Not waited for yet: the page comes meanwhile.
  const listingKey = nextListingKey(aside)
  listingKey.catch(() => {})
  const to: Destinations = { names, staging, direct, unchanged, listingKey }
  const shortcut = new CompanyShortcut(
    new ExpectedCompanies(aside, contract, load.hashOf),
    new PlainCompanyReader(contract, names),
    load.limits,
  )
  const batches = new CompanyBatches(load, to, { stager, shortcut })
  try {
    for await (const piece of piecesOf(shortcut)) {
      for (const element of piece) {
        if (element.kind === 'companyMet') {
          unchanged.add(element.company)
          batches.pass(element.company.content_bytes)
        } else if (element.kind === 'companyBytes') {
          batches.add(shortcut.keep(element), element.bytes.byteLength)
        } else if (element.kind === 'company') batches.add(element, 0)
        else stager.name(element.kind, element)
      }
      if (batches.isFull()) await batches.step()
      await staging.drain()
      await writer.drain()
      await unchanged.drain()
    }
    await batches.end()
    await writer.end()
    await staging.flush()
    await unchanged.flush()
  } catch (error) {
    await turns.stop(error)
    throw error
  }
  return await finishPage(load, to)
}

/**
 * Companies on their way through the three stages, each stage with one batch: the database answers for one while the
 * next are gathered and the one before is written.
 */
class CompanyBatches {
  readonly #load: FastLoad
  readonly #reading: CompanyReading
  readonly #writing: Parameters<typeof writeCompanies>[1]
  readonly #shortcut: CompanyShortcut
  readonly #enough = { companies: batchCompanies.first, bytes: batchBytes.first }
  #gathered: CompanyElement[] = []
  #bytes = 0
  #passedBytes = 0
  #asked: AskedBatch | null = null
  #read: ReadBatch | null = null
  #begun = false

  constructor(
    load: FastLoad,
    { names, direct, unchanged, listingKey }: Destinations,
    { stager, shortcut }: { stager: ReturnType<typeof createPageStager>; shortcut: CompanyShortcut },
  ) {
    const { aside, contract, limits } = load
    this.#load = load
    this.#shortcut = shortcut
    this.#reading = new CompanyReading({ aside, contract, limits, shortcut, stager, unchanged })
    const decoded = this.#reading.decoded.bind(this.#reading)
    this.#writing = { direct, listingKey, names, stager, decoded }
  }

  add(element: CompanyElement, bytes: number): void {
    this.#gathered.push(element)
    this.#bytes += bytes
  }

  /** Bytes of the page that are none of these companies. */
  pass(bytes: number): void {
    this.#passedBytes += bytes
  }

  isFull(): boolean {
    const [companies, bytes] = [this.#gathered.length, this.#bytes]
    if (companies > 0 && bytes + this.#passedBytes >= stretchBytes) return true
    return companies >= this.#enough.companies || bytes >= this.#enough.bytes
  }

  /** Sends the companies gathered on. The first go through all stages at once: until they have, nobody is at work. */
  async step(): Promise<void> {
    if (this.#begun) await this.#next()
    else await this.#through()
    this.#begun = true
  }

  /** Sends what is left through all stages. Nothing may be added afterwards. */
  async end(): Promise<void> {
    await this.#through()
    this.#shortcut.memory.giveBack()
  }

  async #through(): Promise<void> {
    for (let stage = 0; stage < 3; stage++) await this.#next()
  }

  async #next(): Promise<void> {
    const { aside, hashOf } = this.#load
    const [elements, asked, read] = [this.#gathered, this.#asked, this.#read]
    this.#gathered = []
    this.#bytes = 0
    this.#passedBytes = 0
    this.#asked = null
    if (elements.length > 0) {
      this.#enough.companies = Math.min(this.#enough.companies * 2, batchCompanies.most)
      this.#enough.bytes = Math.min(this.#enough.bytes * 2, batchBytes.most)
      this.#asked = askWhichAreUnchanged(aside, hashOf, elements, this.#shortcut.memory)
    }
    this.#read = asked === null ? null : await this.#reading.read(asked)
    if (read !== null) {
      await writeCompanies(read, this.#writing)
      read.memory.giveBack()
    }
    // Not before, so that it may be the one that was just given back: no company is read meanwhile.
    if (elements.length > 0) this.#shortcut.memory = BatchMemory.take()
  }
}

/** Merges what was staged, once everything of the page is in the database. */
async function finishPage(
  { trx, aside, merge }: FastLoad,
  { names, staging, direct, unchanged, listingKey }: Destinations,
): Promise<Omit<PageCounts, 'bytes'>> {
  const companiesStaged = staging.holdsCompanies()
  const trouble = companiesStaged ? await findTrouble(trx, merge.submissionId) : undefined
  if (trouble !== undefined) throw new NeedsCare(trouble)
  if (!(await makeListedNames(trx, aside, maxNames))) throw new NeedsCare('many_names')
  const merged = await mergePage(trx, {
    ...merge,
    companiesStaged,
    listingKey: await listingKey,
    unchangedKeys: [...unchanged.byListing.values()].flat(),
  })
  if (companiesStaged && !(await checkShownOnce(trx))) throw new NeedsCare('company_on_many_pages')
  if (merged.companies + direct.counts.companies > 0) await keepListing(trx, await listingKey)
  const referred = { variables: names.variables.referred(), properties: names.properties.referred() }
  if (!(await checkListed(trx, referred, unchanged.byListing))) throw new NeedsCare('name_not_listed')
  await markWholeSeen(trx, merge.submissionId, direct.companyKeys)
  await markUnselectedSeen(trx, merge.submissionId, direct.companyKeys, merge.calculatorTypeIds)
  return {
    ...merged,
    companies: merged.companies + direct.counts.companies + unchanged.counts.companies,
    calculators: merged.calculators + direct.counts.calculators + unchanged.counts.calculators,
    values: merged.values + direct.counts.values + unchanged.counts.values,
    added: merged.added + direct.counts.values,
    unchanged: unchanged.counts.companies,
    care: null,
  }
}
