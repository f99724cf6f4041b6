import type { Transaction } from 'kysely'
import type pg from 'pg'
import type { Schema } from '../../db/tables/database-schema.ts'
import { Turns } from '../../db/turns.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { PageLimits } from '../reading/page-limits.ts'
import { parseCompany } from '../reading/parse-company.ts'
import type { PageElement } from '../reading/read-page.ts'
import type { SplitCompany } from '../reading/split-page.ts'
import { pageCompany } from './content/page-company.ts'
import type { ContentHash } from './fast/content-hash.ts'
import { keepListing } from './merge/fast-checks.ts'
import { nextListingKey } from './merge/key-blocks.ts'
import { type MergeOptions, mergePage, type PageCounts } from './merge/merge-page.ts'
import { createStagingWriter } from './merge/staging-tables.ts'
import { createPageStager } from './stage-page.ts'

type CarefulLoad = {
  trx: Transaction<Schema>
  /** The connection of the transaction. */
  client: pg.ClientBase
  contract: Contract
  limits: PageLimits
  hashOf: ContentHash
  merge: Omit<MergeOptions, 'companiesStaged' | 'listingKey' | 'unchangedKeys'>
  /** Why the page is loaded with care. */
  care: string
  /** Waits until no other page is loaded; false when this one has been meanwhile. */
  claim: () => Promise<boolean>
}

/**
 * Loads a page by staging all of it and comparing every row with the tables: slower, and at home with every page.
 * Others wait for the comparison alone: how long the page takes to arrive is up to the one that sends it.
 * @returns null when another has loaded it meanwhile; nothing was done then.
 */
export async function loadCarefully(
  pieces: AsyncIterable<readonly (SplitCompany | PageElement)[]>,
  { trx, client, contract, limits, hashOf, merge, care, claim }: CarefulLoad,
): Promise<Omit<PageCounts, 'bytes'> | null> {
  const writer = createStagingWriter(client, new Turns())
  const stager = createPageStager(writer, contract)
  for await (const piece of pieces) {
    for (const element of piece) {
      if (element.kind === 'companyBytes') {
        const decoded = pageCompany(parseCompany(element, limits), contract)
        const content = { hash: hashOf(element.bytes), bytes: element.bytes.byteLength }
        stager.company(decoded, element.ordinal, content)
      } else if (element.kind === 'company') {
        stager.company(pageCompany(element.value, contract), element.ordinal, null)
      } else stager.name(element.kind, element)
      await writer.drain()
    }
  }
  await writer.flush()
  if (!(await claim())) return null
  const listingKey = await nextListingKey(trx)
  const merged = await mergePage(trx, {
    ...merge,
    companiesStaged: writer.holdsCompanies(),
    listingKey,
    unchangedKeys: [],
  })
  if (merged.companies > 0) await keepListing(trx, listingKey)
  return { ...merged, unchanged: 0, care }
}
