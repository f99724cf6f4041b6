import { createDatabase, createPool, type Database, withSession } from '../../../../src/db/database.ts'
import { schemaName } from '../../../../src/db/migrate-to-latest.ts'
import {
  type FinishDocumentsOptions,
  type FinishedDocuments,
  finishDocuments,
} from '../../../../src/pipeline/pull/documents/document-searches.ts'
import {
  type LoadDocumentsOptions,
  type LoadedDocuments,
  loadDocuments,
} from '../../../../src/pipeline/pull/documents/load-documents.ts'
import type { PageLimits } from '../../../../src/pipeline/reading/page-limits.ts'
import { testDatabase } from '../../../helpers/postgres.ts'
import { defaultPageLimits } from '../limits.ts'

export type ListedPage = { page_id: number; submission_id: number; ordinal: number }

export type StoredDocument = { list: string; document_id: string; document: string; here: boolean }

/** A database of its own with a run in it, and what a test of searches for documents does there. */
export type DocumentsDatabase = AsyncDisposable & {
  url: string
  db: Database
  /** Lists a new search with so many pages. */
  search(pages?: number, name?: string): Promise<ListedPage[]>
  load(page: ListedPage | undefined, text: string | Uint8Array, over?: LoadOver): Promise<LoadedDocuments | null>
  finish(page: ListedPage | undefined, options?: Partial<FinishDocumentsOptions>): Promise<FinishedDocuments | null>
  /** A whole search with these pages, loaded in this order, and ended. */
  night(...pages: unknown[]): Promise<FinishedDocuments | null>
  documents(): Promise<StoredDocument[]>
  quarantine(): Promise<{ item: string | null; reason: string; excerpt: string }[]>
}

type LoadOver = {
  limits?: Partial<PageLimits>
  ids?: Record<string, string[]>
  search?: string
  chunk?: number
} & Pick<LoadDocumentsOptions, 'atEnd'>

export async function documentsDatabase(): Promise<DocumentsDatabase> {
  const { url } = await testDatabase()
  const pool = createPool(url, { max: 4, applicationName: 'documents', searchPath: schemaName, onIdleError: () => {} })
  const db = createDatabase(pool)
  const { run_id } = await db
    .insertInto('run')
    .values({ job: 'test', trigger: 'cli', scheduled_for: new Date(0), state: 'running', step: 'load' } as never)
    .returning('run_id')
    .executeTakeFirstOrThrow()

  const database: DocumentsDatabase = {
    url,
    db,
    search: async (pages = 1, name = 'things') => {
      const { submission_id } = await db
        .insertInto('submission')
        .values({ run_id, kind: 'companies_search', partition: name, state: 'settled', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      if (pages === 0) return [{ page_id: 0, submission_id, ordinal: 0 }]
      const listed = Array.from({ length: pages }, (_, ordinal) => ({
        submission_id,
        ordinal,
        url: `https://pages.example/${ordinal}`,
        state: 'listed' as const,
      }))
      return await db
        .insertInto('search_page')
        .values(listed)
        .returning(['page_id', 'submission_id', 'ordinal'])
        .execute()
    },
    load: async (page, text, { limits, ids = { things: ['id'] }, search = 'things', chunk, atEnd } = {}) => {
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      return await withSession(pool, (session) =>
        loadDocuments(session, known(page), inChunks(bytes, chunk ?? bytes.length), {
          search,
          idMembers: new Map(Object.entries(ids)),
          limits: { ...defaultPageLimits, ...limits },
          ...(atEnd !== undefined && { atEnd }),
        }),
      )
    },
    finish: async (page, options = {}) =>
      await db.transaction().execute((trx) =>
        finishDocuments(trx, known(page).submission_id, {
          minSeenShare: 0.5,
          partial: false,
          idLists: new Set(['things']),
          ...options,
        }),
      ),
    night: async (...pages) => {
      const listed = await database.search(pages.length)
      for (const [index, page] of pages.entries()) await database.load(listed[index], JSON.stringify(page))
      return await database.finish(listed[0])
    },
    documents: async () =>
      await db
        .selectFrom('document')
        .select(['list', 'document_id'])
        .select((eb) => [
          eb.cast<string>('document', 'text').as('document'),
          eb('removed_at', 'is', null).$castTo<boolean>().as('here'),
        ])
        .orderBy('list')
        .orderBy('document_id')
        .execute(),
    quarantine: async () =>
      await db.selectFrom('quarantine').select(['item', 'reason', 'excerpt']).orderBy('item').execute(),
    [Symbol.asyncDispose]: () => db.destroy(),
  }
  return database
}

function known(page: ListedPage | undefined): ListedPage {
  if (page === undefined) throw new Error('the search has no such page')
  return page
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}
