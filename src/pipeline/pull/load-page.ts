import type { Transaction } from 'kysely'
import type { Session } from '../../db/database.ts'
import { mergePage, type PageCounts } from '../../db/pull/merge-page.ts'
import { lockSearchPage, markPageLoaded } from '../../db/pull/search-page.ts'
import { createStaging } from '../../db/pull/staging-tables.ts'
import { createStagingWriter } from '../../db/pull/staging-writer.ts'
import type { Schema } from '../../db/tables/schema.ts'
import type { SearchPage } from '../../db/tables/search-page.ts'
import type { Contract } from '../../exchange/contract.ts'
import type { PageLimits } from './page-limits.ts'
import { readPage } from './read-page.ts'
import { stagePage } from './stage-page.ts'

export type { PageCounts }

export type LoadOptions = {
  contract: Contract
  limits: PageLimits
  /** The calculator types that the search selected; empty, the default, for all. Others are never proven absent. */
  calculatorTypeIds?: readonly string[]
  /** What must become true together with the page: done last, in its transaction. */
  atEnd?: (trx: Transaction<Schema>) => Promise<void>
}

/** The page to load is not among the pages of any search: it was never listed, or its run was cleaned away. */
export class PageNotListedError extends Error {
  readonly code = 'page_not_listed'
}

/**
 * Loads one page of a calculator search in one transaction: as it streams in it is staged through COPY, then merged.
 * A page that is loaded already is left alone, its body unread: whoever opened the body closes it, however this ends.
 * On any failure nothing has changed.
 *
 * @throws {PageFormatError} when the structure of the page is wrong; what `body` throws; database errors.
 *   Of these 40001 and 40P01 mean: load it again.
 */
export async function loadPage(
  session: Session,
  page: { page_id: number; submission_id: number },
  body: AsyncIterable<Uint8Array>,
  { contract, limits, calculatorTypeIds = [], atEnd }: LoadOptions,
): Promise<PageCounts> {
  return await session.db.transaction().execute(async (trx) => {
    const listed = await lockSearchPage(trx, page.page_id)
    if (listed === undefined) {
      throw new PageNotListedError(`page ${page.page_id} is not listed in search_page: run the search again`)
    }
    if (listed.state === 'loaded') return countsOf(listed)

    await createStaging(trx)
    const counted = countBytes(body)
    await stagePage(readPage(counted.body, { contract, limits }), contract, createStagingWriter(session.client))
    const merged = await mergePage(trx, {
      pageId: page.page_id,
      submissionId: page.submission_id,
      calculatorTypeIds,
      maxQuarantineRows: limits.maxQuarantineRows,
    })
    const counts = { ...merged, bytes: counted.bytes() }
    await markPageLoaded(trx, page.page_id, counts)
    await atEnd?.(trx)
    return counts
  })
}

function countBytes(body: AsyncIterable<Uint8Array>): { body: AsyncIterable<Uint8Array>; bytes: () => number } {
  let bytes = 0
  async function* passing(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of body) {
      bytes += chunk.byteLength
      yield chunk
    }
  }
  return { body: passing(), bytes: () => bytes }
}

function countsOf(page: SearchPage): PageCounts {
  const { companies, calculators, values, added, changed, removed, quarantined, bytes } = page
  return { companies, calculators, values, added, changed, removed, quarantined, bytes }
}
