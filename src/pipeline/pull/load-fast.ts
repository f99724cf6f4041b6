import type { Transaction } from 'kysely'
import type pg from 'pg'
import type { Database } from '../../db/database.ts'
import { createDirectWriter } from '../../db/pull/direct-writer.ts'
import { checkListed, findTrouble, keepListing } from '../../db/pull/fast-checks.ts'
import { createKeyBlocks, nextListingKey } from '../../db/pull/key-blocks.ts'
import { findByContent, findById } from '../../db/pull/known-companies.ts'
import { markWholeSeen } from '../../db/pull/mark-seen.ts'
import { type MergeOptions, mergePage, type PageCounts } from '../../db/pull/merge-page.ts'
import { createNameKeys } from '../../db/pull/name-keys.ts'
import { createStagingWriter } from '../../db/pull/staging-writer.ts'
import type { Schema } from '../../db/tables/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { ContentHash } from './content-hash.ts'
import { createDirectCompanies, type NewCompany } from './direct-companies.ts'
import { NeedsCare } from './needs-care.ts'
import { pageCompany } from './page-company.ts'
import type { PageLimits } from './page-limits.ts'
import { parseCompany } from './parse-company.ts'
import type { PageElement } from './read-page.ts'
import type { SplitCompany } from './split-page.ts'
import { createPageStager } from './stage-page.ts'
import { UnchangedCompanies } from './unchanged-companies.ts'

/** Companies looked up at once, and the bytes that are held meanwhile. */
const batchCompanies = 256
const batchBytes = 2 * 1024 * 1024

export type FastLoad = {
  trx: Transaction<Schema>
  /** The connection of the transaction. */
  client: pg.ClientBase
  /** Another connection, for what is looked up while the first one copies: committed rows alone, or keys. */
  aside: Database
  contract: Contract
  limits: PageLimits
  hashOf: ContentHash
  merge: Omit<MergeOptions, 'listingKey'>
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
  const names = { variables: createNameKeys(aside, 'variable'), properties: createNameKeys(aside, 'property') }
  const direct = createDirectCompanies(writer, createKeyBlocks(aside), names)
  const unchanged = new UnchangedCompanies()
  const listingKey = await nextListingKey(aside)
  let batch: (SplitCompany | PageElement)[] = []
  let bytes = 0

  async function takeBatch(): Promise<void> {
    const hashes = batch.map((company) => (company.kind === 'companyBytes' ? hashOf(company.bytes) : null))
    const known = await findByContent(
      aside,
      hashes.filter((hash) => hash !== null),
    )
    const clean: (NewCompany & { ordinal: number })[] = []
    for (const [index, element] of batch.entries()) {
      const contentHash = hashes[index] ?? null
      const same = contentHash === null ? undefined : known.get(contentHash)
      if (same !== undefined) {
        unchanged.add(same)
        continue
      }
      const value = element.kind === 'companyBytes' ? parseCompany(element, limits) : element.value
      const decoded = pageCompany(value, contract)
      const { company, leftOut } = decoded
      if (company === undefined || leftOut.length > 0) stager.company(decoded, element.ordinal, null)
      else clean.push({ company, contentHash, ordinal: element.ordinal })
    }
    const existing = await findById(
      aside,
      clean.map(({ company }) => company.companyId),
    )
    const fresh: NewCompany[] = []
    for (const { company, contentHash, ordinal } of clean) {
      if (existing.has(company.companyId)) stager.company({ company, leftOut: [] }, ordinal, contentHash)
      else fresh.push({ company, contentHash })
    }
    if (fresh.length > 0) await direct.add(fresh, listingKey)
    batch = []
    bytes = 0
  }

  for await (const piece of pieces) {
    for (const element of piece) {
      if (element.kind === 'companyBytes') bytes += element.bytes.byteLength
      if (element.kind === 'companyBytes' || element.kind === 'company') batch.push(element)
      else stager.name(element.kind, element)
    }
    if (batch.length >= batchCompanies || bytes >= batchBytes) await takeBatch()
    await staging.drain()
    await writer.drain()
  }
  if (batch.length > 0) await takeBatch()
  await writer.flush()
  await staging.flush()

  const trouble = await findTrouble(trx, merge.submissionId)
  if (trouble !== undefined) throw new NeedsCare(trouble)
  const merged = await mergePage(trx, { ...merge, listingKey })
  if (merged.companies + direct.counts.companies > 0) await keepListing(trx, listingKey)
  if (!(await checkListed(trx, direct.referred, unchanged.byListing))) throw new NeedsCare('name_not_listed')
  await markWholeSeen(trx, merge.submissionId, direct.companyKeys)
  for (const companyKeys of unchanged.byListing.values()) await markWholeSeen(trx, merge.submissionId, companyKeys)
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
