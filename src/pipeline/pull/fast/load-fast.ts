import type { Transaction } from 'kysely'
import type pg from 'pg'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import { parseCompany } from '../../reading/parse-company.ts'
import type { PageElement } from '../../reading/read-page.ts'
import type { SplitCompany } from '../../reading/split-page.ts'
import { type DecodedCompany, type PageCompany, pageCompany } from '../content/page-company.ts'
import { createDirectWriter } from '../merge/direct-writer.ts'
import { checkListed, checkShownOnce, findTrouble, keepListing } from '../merge/fast-checks.ts'
import { createKeyBlocks, nextListingKey } from '../merge/key-blocks.ts'
import { findByContent, findById, type UnchangedCompany } from '../merge/known-companies.ts'
import { markWholeSeen } from '../merge/mark-seen.ts'
import { type MergeOptions, mergePage, type PageCounts } from '../merge/merge-page.ts'
import { createNameKeys, makeListedNames } from '../merge/name-keys.ts'
import { createStagingWriter } from '../merge/staging-writer.ts'
import { createPageStager } from '../stage-page.ts'
import type { ContentHash } from './content-hash.ts'
import { DirectCompanies } from './direct-companies.ts'
import { maxNames, NameIndex } from './name-index.ts'
import { NeedsCare } from './needs-care.ts'
import { type PlainCompany, PlainCompanyReader } from './plain-company.ts'
import { UnchangedCompanies } from './unchanged-companies.ts'

/** Companies that go on together, and about how many bytes of them; three such batches are held. */
const batchCompanies = 256
const batchBytes = 1024 * 1024

type FastLoad = {
  trx: Transaction<Schema>
  /** The connection of the transaction. */
  client: pg.ClientBase
  /** Another connection, for what is looked up while the first one copies: committed rows alone, or keys. */
  aside: Database
  contract: Contract
  limits: PageLimits
  hashOf: ContentHash
  merge: Omit<MergeOptions, 'listingKey' | 'unchangedKeys' | 'unchangedCalculators'>
}

/**
 * Loads a page, company by company: one whose bytes are known is only marked as seen, a new one goes straight into the
 * tables, one that changed is staged and merged at the end.
 *
 * @throws {NeedsCare} when the page holds what only a load with care can do.
 */
export async function loadFast(
  pieces: AsyncIterable<readonly (SplitCompany | PageElement)[]>,
  { trx, client, aside, contract, limits, hashOf, merge }: FastLoad,
): Promise<Omit<PageCounts, 'bytes'>> {
  const staging = createStagingWriter(client)
  const stager = createPageStager(staging, contract)
  const writer = createDirectWriter(client)
  const names = {
    variables: new NameIndex(createNameKeys(aside, 'variable')),
    properties: new NameIndex(createNameKeys(aside, 'property')),
  }
  let readers: [PlainCompanyReader, PlainCompanyReader] = [
    new PlainCompanyReader(contract, names),
    new PlainCompanyReader(contract, names),
  ]
  const direct = new DirectCompanies(writer, createKeyBlocks(aside), names)
  const unchanged = new UnchangedCompanies(trx, merge.submissionId)
  const listingKey = await nextListingKey(aside)
  let gathered: (SplitCompany | PageElement)[] = []
  let bytes = 0
  let asked: AskedBatch = { elements: [], hashes: [], known: Promise.resolve(new Map()) }
  let read: ReadBatch = { companies: [], reader: readers[0], existing: Promise.resolve(new Set()) }

  /**
   * Sends the companies gathered one step on: which of them are unchanged is asked; those asked about before are read,
   * and which of them are there is asked; those read before are written. While the answers come, the next are gathered.
   */
  async function step(): Promise<void> {
    const elements = gathered
    gathered = []
    bytes = 0
    const before = asked
    asked = askWhichAreUnchanged(elements)
    const readBefore = read
    read = await readChanged(before)
    await write(readBefore)
  }

  function askWhichAreUnchanged(elements: readonly (SplitCompany | PageElement)[]): AskedBatch {
    const hashes = elements.map((element) => (element.kind === 'companyBytes' ? hashOf(element.bytes) : null))
    const known = findByContent(
      aside,
      hashes.filter((hash) => hash !== null),
    )
    // Whoever reads the batch is told.
    known.catch(() => {})
    return { elements, hashes, known }
  }

  async function readChanged({ elements, hashes, known }: AskedBatch): Promise<ReadBatch> {
    const unchangedByHash = await known
    // The batch before is not written yet, and its places are on the other tape.
    const [reader, other] = readers
    readers = [other, reader]
    reader.rewind()
    const companies: ReadCompany[] = []
    for (const [index, element] of elements.entries()) {
      const contentHash = hashes[index] ?? null
      const same = contentHash === null ? undefined : unchangedByHash.get(contentHash)
      if (same !== undefined) unchanged.add(same)
      else {
        const company = readCompany(reader, element, contentHash)
        if (company !== undefined) companies.push(company)
      }
    }
    const existing = findById(
      aside,
      companies.map(({ companyId }) => companyId),
    )
    existing.catch(() => {})
    return { companies, reader, existing }
  }

  /** New companies become rows of the tables, others are staged. */
  async function write({ companies, reader, existing }: ReadBatch): Promise<void> {
    const known = await existing
    const fresh: ReadCompany[] = []
    for (const company of companies) {
      if (known.has(company.companyId)) stager.company(decoded(company), company.element.ordinal, company.contentHash)
      else fresh.push(company)
    }
    await writeNew(fresh, reader.tape)
  }

  /** Undefined: something of it was left out, and it was staged. */
  function readCompany(
    reader: PlainCompanyReader,
    element: SplitCompany | PageElement,
    contentHash: string | null,
  ): ReadCompany | undefined {
    const plain = element.kind === 'companyBytes' ? reader.read(element.bytes) : undefined
    if (plain !== undefined) return { element, contentHash, companyId: plain.companyId, plain }
    const parsed = decode(element)
    const { company, leftOut } = parsed
    if (company !== undefined && leftOut.length === 0) {
      return { element, contentHash, companyId: company.companyId, company }
    }
    stager.company(parsed, element.ordinal, null)
    return undefined
  }

  function decode(element: SplitCompany | PageElement): DecodedCompany {
    return pageCompany(element.kind === 'companyBytes' ? parseCompany(element, limits) : element.value, contract)
  }

  function decoded(read: ReadCompany): DecodedCompany {
    return read.company === undefined ? decode(read.element) : { company: read.company, leftOut: [] }
  }

  async function writeNew(fresh: readonly ReadCompany[], tape: Int32Array): Promise<void> {
    if (fresh.length === 0) return
    let calculators = 0
    for (const { plain, company } of fresh) {
      calculators += plain?.calculators ?? company?.calculators.length ?? 0
      if (company === undefined) continue
      for (const { propertyId } of company.properties) names.properties.numberOf(propertyId)
      for (const { content } of company.calculators) {
        for (const { variableId } of content?.values ?? []) names.variables.numberOf(variableId)
      }
    }
    await names.variables.resolve()
    await names.properties.resolve()
    await direct.reserve(fresh.length, calculators)
    for (const { plain, company, contentHash } of fresh) {
      if (plain !== undefined) direct.addPlain(plain, tape, { contentHash, listingKey })
      else if (company !== undefined) direct.add(company, { contentHash, listingKey })
    }
  }

  for await (const piece of pieces) {
    for (const element of piece) {
      if (element.kind === 'companyBytes') bytes += element.bytes.byteLength
      if (element.kind === 'companyBytes' || element.kind === 'company') gathered.push(element)
      else stager.name(element.kind, element)
    }
    if (gathered.length >= batchCompanies || bytes >= batchBytes) await step()
    await staging.drain()
    await writer.drain()
    await unchanged.drain()
  }
  // The last two batches are still on their way.
  for (let left = 0; left < 3; left++) await step()
  await writer.flush()
  await staging.flush()
  await unchanged.flush()

  const trouble = await findTrouble(trx, merge.submissionId)
  if (trouble !== undefined) throw new NeedsCare(trouble)
  if (!(await makeListedNames(trx, aside, maxNames))) throw new NeedsCare('many_names')
  const merged = await mergePage(trx, {
    ...merge,
    listingKey,
    unchangedKeys: [...unchanged.byListing.values()].flat(),
    unchangedCalculators: unchanged.counts.calculators,
  })
  if (!(await checkShownOnce(trx, merge.submissionId))) throw new NeedsCare('company_on_many_pages')
  if (merged.companies + direct.counts.companies > 0) await keepListing(trx, listingKey)
  const referred = { variables: names.variables.referred(), properties: names.properties.referred() }
  if (!(await checkListed(trx, referred, unchanged.byListing))) throw new NeedsCare('name_not_listed')
  await markWholeSeen(trx, merge.submissionId, direct.companyKeys)
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

/** Companies, the hashes of their bytes, and which of these are known. */
type AskedBatch = {
  elements: readonly (SplitCompany | PageElement)[]
  hashes: readonly (string | null)[]
  known: Promise<ReadonlyMap<string, UnchangedCompany>>
}

/** What was read of a batch, by which reader, and which of it is there already. */
type ReadBatch = {
  companies: readonly ReadCompany[]
  reader: PlainCompanyReader
  existing: Promise<ReadonlySet<string>>
}

/** A company of which nothing was left out: either as places in its bytes or decoded. */
type ReadCompany = {
  element: SplitCompany | PageElement
  contentHash: string | null
  companyId: string
  plain?: PlainCompany
  company?: PageCompany
}
