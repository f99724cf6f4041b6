import type { Transaction } from 'kysely'
import { type Session, withSession } from '../../../db/database.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SearchPage } from '../../../db/tables/service-tables.ts'
import type { Deps } from '../../deps.ts'
import { openResult, PageFormatError, type PageLimits } from '../../reading/page-limits.ts'
import { readLists } from '../../reading/read-page.ts'
import { lockSearchPage, markPageLoaded } from '../search/search-pages.ts'
import { DocumentAssembler, type DocumentText, documentId, type IdMembers, idMembersOf } from './document-assembler.ts'
import {
  createDocumentStaging,
  createDocumentWriter,
  type DocumentCounts,
  type DocumentWriter,
  mergeDocuments,
} from './merge-documents.ts'

export type LoadDocumentsOptions = {
  /** The name of the search. */
  search: string
  idMembers: IdMembers
  limits: PageLimits
  /** What must become true together with the page: done last, in its transaction. */
  atEnd?: (trx: Transaction<Schema>) => Promise<void>
}

export type LoadedDocuments = DocumentCounts & { bytes: number }

/**
 * Loads one page of a search whose pages are kept as documents, in one transaction: every element of every list at its
 * top is staged through COPY as it streams in, then merged. A page that is loaded already is left alone, its body
 * unread. On any failure nothing has changed.
 *
 * @throws {PageFormatError} when the structure of the page is wrong, or the database cannot hold what is on it; what
 *   `body` throws; database errors. Of these 40001 and 40P01 mean: load it again.
 */
export async function loadDocuments(
  session: Session,
  page: Pick<SearchPage, 'page_id' | 'submission_id' | 'ordinal'>,
  body: AsyncIterable<Uint8Array>,
  { search, idMembers, limits, atEnd }: LoadDocumentsOptions,
): Promise<LoadedDocuments | null> {
  return await session.db.transaction().execute(async (trx) => {
    const listed = await lockSearchPage(trx, page.page_id)
    if (listed === undefined || listed.state === 'loaded') return null
    await createDocumentStaging(trx)
    const { bytes, lists } = await stage(body, createDocumentWriter(session.client), idMembers, limits)
    const merged = await mergeDocuments(trx, {
      pageId: page.page_id,
      submissionId: page.submission_id,
      ordinal: page.ordinal,
      search,
      lists,
      maxQuarantineRows: limits.maxQuarantineRows,
    })
    const counts = { ...merged, bytes }
    await markPageLoaded(trx, page.page_id, counts)
    await atEnd?.(trx)
    return counts
  })
}

/** A list that has ids must be one: whatever else stands there does not show that its elements are gone. */
async function stage(
  body: AsyncIterable<Uint8Array>,
  writer: DocumentWriter,
  idMembers: IdMembers,
  limits: PageLimits,
): Promise<{ bytes: number; lists: string[] }> {
  const counted = { bytes: 0 }
  const lists: string[] = []
  const entered = (name: string) => {
    lists.push(name)
    return name
  }
  const element = new DocumentAssembler(limits, new Set([...idMembers.values()].flat()))
  const arrays = new Set(idMembers.keys())
  const elements = readLists(counting(body, counted), { lists: entered, required: null, arrays, limits, element })
  let position = 0
  try {
    for await (const { kind: list, value, ordinal } of elements) {
      const { text, members, problem } = value as DocumentText
      const id = documentId(members, idMembers.get(list) ?? [])
      if (problem === null) writer.add('staged_document', [position++, list, id, text])
      else writer.add('staged_left_out', [list, ordinal, id, problem, excerptOf(text)])
      await writer.drain()
    }
    await writer.flush()
  } catch (error) {
    throw unstorable(error) ?? error
  }
  return { bytes: counted.bytes, lists }
}

async function* counting(body: AsyncIterable<Uint8Array>, counted: { bytes: number }): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    counted.bytes += chunk.byteLength
    yield chunk
  }
}

const maxExcerptLength = 200

function excerptOf(text: string): string {
  return text.length <= maxExcerptLength ? text : `${text.slice(0, maxExcerptLength - 1).toWellFormed()}…`
}

/** SQLSTATE classes by which PostgreSQL says that it cannot hold a value: a data exception, a limit of its own. */
const valueClasses = ['22', '54']

/**
 * What can be held is judged before it is copied; should the server judge otherwise, the page is at fault, not the
 * night.
 */
function unstorable(error: unknown): PageFormatError | null {
  const { code, message } = error as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !/^[0-9A-Z]{5}$/.test(code) || !valueClasses.includes(code.slice(0, 2))) return null
  return new PageFormatError('in its lists', `the database cannot hold it (${message})`, { cause: error })
}

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
