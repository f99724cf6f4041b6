import type { Transaction } from 'kysely'
import type pg from 'pg'
import type { Database } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { Turns } from '../../../db/turns.ts'
import type { Contract } from '../../../exchange/contract.ts'
import type { PageLimits } from '../../reading/page-limits.ts'
import { createDirectWriter } from '../merge/direct-writer.ts'
import { checkListed, checkShownOnce, findTrouble, keepListing } from '../merge/fast-checks.ts'
import { createKeyBlocks, nextListingKey } from '../merge/key-blocks.ts'
import { markWholeSeen } from '../merge/mark-seen.ts'
import { type MergeOptions, mergePage, type PageCounts } from '../merge/merge-page.ts'
import { createNameKeys, makeListedNames } from '../merge/name-keys.ts'
import { createStagingWriter } from '../merge/staging-tables.ts'
import { createPageStager } from '../stage-page.ts'
import { askWhichAreUnchanged } from './company-asking.ts'
import type { CompanyElement } from './company-batch.ts'
import { CompanyReading } from './company-reading.ts'
import { writeCompanies } from './company-writing.ts'
import type { ContentHash } from './content-hash.ts'
import { DirectCompanies } from './direct-companies.ts'
import type { MetCompany } from './expected-companies.ts'
import { maxNames, NameIndex } from './name-index.ts'
import { NeedsCare } from './needs-care.ts'
import { UnchangedCompanies } from './unchanged-companies.ts'

/** Companies that go on together, and about how many bytes of them; three such batches are held. */
const batchCompanies = 256
const batchBytes = 1024 * 1024

/** Bytes of the page after which companies go on, however few: what is written waits for the page's end otherwise. */
const stretchBytes = 4 * batchBytes

type FastLoad = {
  trx: Transaction<Schema>
  /** The connection of the transaction. */
  client: pg.ClientBase
  /** Another connection, for what is looked up while the first one copies: committed rows alone, or keys. */
  aside: Database
  contract: Contract
  limits: PageLimits
  hashOf: ContentHash
  merge: Omit<MergeOptions, 'companiesStaged' | 'listingKey' | 'unchangedKeys' | 'unchangedCalculators'>
}

/**
 * Loads a page, company by company: one whose bytes are known is only marked as seen, a new one goes straight into the
 * tables, one that changed is staged and merged at the end.
 *
 * @throws {NeedsCare} when the page holds what only a load with care can do.
 */
export async function loadFast(
  pieces: AsyncIterable<readonly (CompanyElement | MetCompany)[]>,
  { trx, client, aside, contract, limits, hashOf, merge }: FastLoad,
): Promise<Omit<PageCounts, 'bytes'>> {
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
  const listingKey = await nextListingKey(aside)
  const reading = new CompanyReading({ aside, contract, limits, names, stager, unchanged })
  const writing = { direct, listingKey, names, stager, decoded: reading.decoded.bind(reading) }
  let gathered: CompanyElement[] = []
  let bytes = 0
  let metBytes = 0
  let asked = askWhichAreUnchanged(aside, hashOf, [])
  let read = await reading.read(asked)

  /** Sends the companies gathered one stage on; while answers come for them, the next are gathered. */
  async function step(): Promise<void> {
    const [elements, before, readBefore] = [gathered, asked, read]
    gathered = []
    bytes = 0
    metBytes = 0
    asked = askWhichAreUnchanged(aside, hashOf, elements)
    read = await reading.read(before)
    await writeCompanies(readBefore, writing)
  }

  for await (const piece of pieces) {
    // A company is a view of its chunk, and keeps all of it: too much for a few among those that were met again.
    const alone = piece.some(({ kind }) => kind === 'companyMet')
    for (const element of piece) {
      if (element.kind === 'companyMet') {
        unchanged.add(element.company)
        metBytes += element.company.content_bytes
      } else if (element.kind === 'companyBytes') {
        bytes += element.bytes.byteLength
        gathered.push(alone ? { ...element, bytes: Uint8Array.from(element.bytes) } : element)
      } else if (element.kind === 'company') gathered.push(element)
      else stager.name(element.kind, element)
    }
    const far = gathered.length > 0 && bytes + metBytes >= stretchBytes
    if (far || gathered.length >= batchCompanies || bytes >= batchBytes) await step()
    await staging.drain()
    await writer.drain()
    await unchanged.drain()
  }
  // The last two batches are still on their way.
  for (let left = 0; left < 3; left++) await step()
  await writer.flush()
  await staging.flush()
  await unchanged.flush()

  const companiesStaged = staging.holdsCompanies()
  const trouble = companiesStaged ? await findTrouble(trx, merge.submissionId) : undefined
  if (trouble !== undefined) throw new NeedsCare(trouble)
  if (!(await makeListedNames(trx, aside, maxNames))) throw new NeedsCare('many_names')
  const merged = await mergePage(trx, {
    ...merge,
    companiesStaged,
    listingKey,
    unchangedKeys: [...unchanged.byListing.values()].flat(),
    unchangedCalculators: unchanged.counts.calculators,
  })
  if (companiesStaged && !(await checkShownOnce(trx, merge.submissionId))) throw new NeedsCare('company_on_many_pages')
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
