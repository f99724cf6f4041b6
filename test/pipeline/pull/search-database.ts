import type pg from 'pg'
import { createDatabase, createPool, type Database } from '../../../src/db/database.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import { type LoadOptions, loadPage, type PageBody, type PageCounts } from '../../../src/pipeline/pull/load-page.ts'
import {
  type FinishedSearch,
  type FinishOptions,
  finishSearch,
} from '../../../src/pipeline/pull/search/whole-search.ts'
import type { PageLimits } from '../../../src/pipeline/reading/page-limits.ts'
import { testDatabase } from '../../helpers/postgres.ts'
import { defaultPageLimits } from './limits.ts'
import { contract } from './sample-page.ts'

export type ListedPage = { page_id: number; submission_id: number }

/** A database of its own with a run in it, and what a test of the pull does there. */
export type SearchDatabase = AsyncDisposable & {
  url: string
  pool: pg.Pool
  db: Database
  /** Lists a new search with so many pages. */
  search(pages?: number): Promise<ListedPage[]>
  load(page: ListedPage, body: AsyncIterable<Uint8Array>, over?: LoadOver): Promise<PageCounts>
  finish(submissionId: number, options?: FinishOptions): Promise<FinishedSearch>
}

type LoadOver = { limits?: Partial<PageLimits> } & Pick<
  LoadOptions,
  'calculatorTypeIds' | 'reading' | 'careful' | 'minSeenShare'
>

export async function searchDatabase(): Promise<SearchDatabase> {
  const { url } = await testDatabase()
  const pool = createPool(url, {
    max: 12,
    applicationName: 'pull test',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const db = createDatabase(pool)
  const { run_id } = await db
    .insertInto('run')
    .values({ job: 'test', trigger: 'cli', scheduled_for: new Date(0), state: 'running', step: 'load' } as never)
    .returning('run_id')
    .executeTakeFirstOrThrow()

  return {
    url,
    pool,
    db,
    search: async (pages = 1) => {
      const { submission_id } = await db
        .insertInto('submission')
        .values({ run_id, kind: 'calculators_search', state: 'settled', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      return await db
        .insertInto('search_page')
        .values(
          Array.from({ length: pages }, (_, ordinal) => ({
            submission_id,
            ordinal,
            url: `https://pages.example/${ordinal}`,
            state: 'listed' as const,
          })),
        )
        .returning(['page_id', 'submission_id'])
        .execute()
    },
    load: async (page, body, { limits, ...over } = {}) =>
      await loadPage(pool, page, replayed(body), {
        contract,
        limits: { ...defaultPageLimits, ...limits },
        ...over,
      }),
    finish: async (submissionId, options) =>
      await db.transaction().execute((trx) => finishSearch(trx, submissionId, options)),
    [Symbol.asyncDispose]: () => db.destroy(),
  }
}

/** A body that can be opened again: what was read of it the first time comes first. */
export function replayed(body: AsyncIterable<Uint8Array>): () => Promise<PageBody> {
  const read: Uint8Array[] = []
  const rest = body[Symbol.asyncIterator]()
  return async () => {
    async function* again(): AsyncGenerator<Uint8Array, void, undefined> {
      yield* read
      for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
        read.push(next.value)
        yield next.value
      }
    }
    return { body: again(), close: () => {} }
  }
}
