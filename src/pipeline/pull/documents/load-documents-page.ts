import type { Transaction } from 'kysely'
import { withSession } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SearchPage } from '../../../db/tables/search-page-table.ts'
import type { Deps } from '../../deps.ts'
import { openResult } from '../../open-result.ts'
import { idMembersOf } from './document-id.ts'
import { loadDocuments } from './load-documents.ts'

/** A page of a search that the configuration no longer knows: nobody can say what tells its elements apart. */
class SearchNotConfiguredError extends Error {
  readonly code = 'search_not_configured'
}

/**
 * Downloads and loads one page of a search for documents.
 * @param stopping aborts when the process may wait no longer: the page is left as it was.
 * @throws {SearchNotConfiguredError} when `pull.searches` no longer names the search; what `loadDocuments` throws.
 */
export async function loadDocumentsPage(
  deps: Deps,
  page: SearchPage & { run_id: number; partition: string },
  atEnd: (trx: Transaction<Schema>) => Promise<void>,
  stopping?: AbortSignal,
): Promise<void> {
  const { searches, maxDepth, maxElementSize } = deps.config.pull
  const search = searches.find(({ name }) => name === page.partition)
  if (search === undefined) {
    throw new SearchNotConfiguredError(
      `pull.searches has no search ${page.partition} any more: its pages are not loaded`,
    )
  }
  const { body } = await openResult(deps, page.url, stopping)
  try {
    const counts = await withSession(deps.pool, (session) =>
      loadDocuments(session, page, body, {
        search: search.name,
        idMembers: idMembersOf(deps.contract, search),
        limits: { maxDepth, maxElementSize, maxQuarantineRows: 1_000 },
        atEnd,
      }),
    )
    deps.logger.info({ run_id: page.run_id, page_id: page.page_id, search: search.name, ...counts }, 'page_loaded')
  } finally {
    body.destroy()
  }
}
