import type { Transaction } from 'kysely'
import type pg from 'pg'
import { createDatabase, Turns, withSession } from '../../db/database.ts'
import { lockLoading } from '../../db/locks/advisory-lock.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { SearchPage } from '../../db/tables/service-tables.ts'
import type { Contract } from '../../exchange/contract.ts'
import { bytesPassed } from '../../heap.ts'
import type { PageLimits } from '../reading/page-limits.ts'
import { type PageElement, readPage } from '../reading/read-page.ts'
import { parseCompany, type SplitCompany, splitPage } from '../reading/split-page.ts'
import { loadFast } from './fast/load-fast.ts'
import { reasonForCare } from './fast/needs-care.ts'
import { nextListingKey } from './merge/key-blocks.ts'
import { type ContentHash, createContentHash, keepListing } from './merge/known-companies.ts'
import { type MergeOptions, mergePage, type PageCounts } from './merge/merge-page.ts'
import { createStaging, createStagingWriter } from './merge/staging-tables.ts'
import { pageCompany } from './page-company.ts'
import { findSearchPage, lockSearchPage, markPageLoaded } from './search/search-pages.ts'
import { defaultMinSeenShare } from './search/whole-search.ts'
import { createPageStager } from './stage-page.ts'

export type { PageCounts }

/** A page as it comes in, once. */
export type PageBody = { body: AsyncIterable<Uint8Array>; close(): void }

export type LoadOptions = {
  contract: Contract
  limits: PageLimits
  /** The calculator types that the search selected; empty, the default, for all. Others are never proven absent. */
  calculatorTypeIds?: readonly string[]
  /**
   * Below this share of what its companies are known to have, a page removes no calculator. 0 to 1; 0.5 is the default.
   */
  minSeenShare?: number
  /** `split`, the default, or all of it token by token, which is slower and knows no company that is unchanged. */
  reading?: 'split' | 'tokens'
  /** Whether the first attempt is one with care already. */
  careful?: boolean
  /** What must become true together with the page: done last, in its transaction. */
  atEnd?: (trx: Transaction<Schema>) => Promise<void>
}

/** The page to load is not among the pages of any search: it was never listed, or its run was cleaned away. */
class PageNotListedError extends Error {
  readonly code = 'page_not_listed'
}

type ListedPage = { page_id: number; submission_id: number }

/**
 * Loads one page of a calculator search in one transaction. Most pages contain companies that are new, or changed, or
 * just as they were: those are loaded fast, beside other pages. What that cannot do, such as a calculator that moves
 * from one company to another, rolls back, and the page is opened again and loaded with care. A page that is loaded
 * already is left alone, its body unread. On any failure nothing has changed.
 *
 * @param open gives the page from its beginning; called once more if it is to be loaded with care.
 * @throws {PageFormatError} when the structure of the page is wrong; what `open` and its body throw; database errors.
 *   Of these 40001 and 40P01 mean: load it again.
 */
export async function loadPage(
  pool: pg.Pool,
  page: ListedPage,
  open: () => Promise<PageBody>,
  options: LoadOptions,
): Promise<PageCounts> {
  if (options.careful === true) return await attempt(pool, page, open, options, 'asked')
  try {
    return await attempt(pool, page, open, options, null)
  } catch (error) {
    const care = reasonForCare(error)
    if (care === undefined) throw error
    return await attempt(pool, page, open, options, care)
  }
}

async function attempt(
  pool: pg.Pool,
  page: ListedPage,
  open: () => Promise<PageBody>,
  {
    contract,
    limits,
    calculatorTypeIds = [],
    minSeenShare = defaultMinSeenShare,
    reading = 'split',
    atEnd,
  }: LoadOptions,
  care: string | null,
): Promise<PageCounts> {
  let opened: PageBody | undefined
  try {
    return await withSession(pool, ({ client, db }) =>
      db.transaction().execute(async (trx) => {
        if (care === null) await lockLoading(trx, 'shared')
        const find = care === null ? lockSearchPage : findSearchPage
        const listed = await find(trx, page.page_id)
        if (listed === undefined) {
          throw new PageNotListedError(`page ${page.page_id} is not listed in search_page: run the search again`)
        }
        if (listed.state === 'loaded') return countsOf(listed)

        await createStaging(trx)
        // Not before: anyone who must wait for other pages must not keep the service waiting for as long.
        opened = await open()
        const counted = countBytes(opened.body)
        const merge = {
          pageId: page.page_id,
          submissionId: page.submission_id,
          calculatorTypeIds,
          maxQuarantineRows: limits.maxQuarantineRows,
          minSeenShare,
        }
        const hashOf = createContentHash(contract, calculatorTypeIds)
        const aside = createDatabase(pool)
        const load = { trx, client, contract, limits, hashOf, merge }
        const tokens = () => piecesOf(readPage(counted.body, { contract, limits }))
        const split = reading === 'split'
        const loaded =
          care === null
            ? await loadFast(
                (shortcut) => (split ? splitPage(counted.body, { contract, limits, shortcut }) : tokens()),
                { ...load, aside },
              )
            : await loadCarefully(split ? splitPage(counted.body, { contract, limits }) : tokens(), {
                ...load,
                care,
                claim: () => claimAlone(trx, page.page_id),
              })
        if (loaded === null) return countsOf((await findSearchPage(trx, page.page_id)) ?? listed)
        const counts = { ...loaded, bytes: counted.bytes() }
        await markPageLoaded(trx, page.page_id, counts)
        await atEnd?.(trx)
        return counts
      }),
    )
  } finally {
    opened?.close()
  }
}

/**
 * Whether the page is still to be loaded, once nothing else is; in the order of locks that the fast way and the end
 * keep.
 */
async function claimAlone(trx: Transaction<Schema>, pageId: number): Promise<boolean> {
  await lockLoading(trx, 'exclusive')
  return (await lockSearchPage(trx, pageId))?.state !== 'loaded'
}

async function* piecesOf(
  elements: AsyncIterable<PageElement>,
): AsyncGenerator<(SplitCompany | PageElement)[], void, undefined> {
  for await (const element of elements) yield [element]
}

function countBytes(body: AsyncIterable<Uint8Array>): { body: AsyncIterable<Uint8Array>; bytes: () => number } {
  let bytes = 0
  async function* passing(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of body) {
      bytes += chunk.byteLength
      yield chunk
      bytesPassed(chunk.byteLength)
    }
  }
  return { body: passing(), bytes: () => bytes }
}

function countsOf(page: SearchPage): PageCounts {
  const { companies, calculators, values, added, changed, removed, quarantined, unchanged, care, bytes } = page
  return { companies, calculators, values, added, changed, removed, quarantined, unchanged, care, bytes }
}

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
async function loadCarefully(
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
