import { afterAll, beforeAll, expect, test } from 'vitest'
import { renderPages } from '../../src/cli/verbs/status.ts'
import { createDatabase, createPool, type Database } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { pageProgress, runProgress } from '../../src/db/runs/run-progress.ts'
import type { SearchPage } from '../../src/db/tables/service-tables.ts'
import { testDatabase } from '../helpers/postgres.ts'

let db: Database
let runId: number
/** The request made last. */
let newest: number

beforeAll(async () => {
  const { url } = await testDatabase()
  db = createDatabase(
    createPool(url, { max: 4, applicationName: 'pages', searchPath: schemaName, onIdleError: () => {} }),
  )
  const { run_id } = await db
    .insertInto('run')
    .values({ job: 'test', trigger: 'cli', scheduled_for: new Date(0), state: 'running', step: 'load' } as never)
    .returning('run_id')
    .executeTakeFirstOrThrow()
  runId = run_id
})

afterAll(() => db.destroy())

async function search(kind: string, partition: string, ...pages: Partial<SearchPage>[]): Promise<void> {
  const { submission_id } = await db
    .insertInto('submission')
    .values({ run_id: runId, kind, partition, state: 'settled', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  newest = submission_id
  const listed = { submission_id, url: 'https://pages.example/', state: 'loaded' as const }
  await db
    .insertInto('search_page')
    .values(pages.map((page, ordinal) => ({ ...listed, ordinal, ...page }) as never))
    .execute()
}

test('unchanged elements of other searches are not counted as companies, and a failed page says whose it is', async () => {
  await search('calculators_search', '', { companies: 3, unchanged: 2, bytes: 1_000, care: 'company_twice' })
  const alone = await pageProgress(db, runId, 'calculators_search')
  expect(renderPages(alone ?? expect.fail())).toMatch(/^Pages of the search: 1 of 1 loaded · 3 companies, 2 of them/)

  const failed = { state: 'failed' as const, failures: 6, error_code: 'download_failed', error_message: '404' }
  await search('standards_search', 'all_standards', { unchanged: 40, bytes: 1_000 }, failed)
  const progress = await pageProgress(db, runId, 'calculators_search')
  expect(progress).toMatchObject({ pages: 3, loaded: 2, failed: 1, companies: 3, unchanged: 2, bytes: 2_000 })
  expect(progress?.remarkable.map((page) => [page.search, page.page])).toEqual([
    ['all_standards', 2],
    [null, 1],
  ])
  const text = renderPages(progress ?? expect.fail())
  expect(text).toMatch(/^Pages of the searches: 2 of 3 loaded · 1 failed · 3 companies, 2 of them unchanged/)
  expect(text).toMatch(/^all_standards +2 +failed +6 +download_failed: 404$/m)
  expect(text).toMatch(/^calculators +1 +loaded +0 +with care: company_twice$/m)
})

test('pages of a run that failed are not counted as loaded, and those of a search that was given up not at all', async () => {
  await search('calculators_search', '', {}, { state: 'failed' }, { state: 'listed' })
  const before = await runProgress(db, runId)
  await search('calculators_search', '', {}, {}, {})
  await db.updateTable('submission').set({ state: 'abandoned' }).where('submission_id', '=', newest).execute()
  const progress = await runProgress(db, runId)
  const pages = await pageProgress(db, runId, 'calculators_search')
  expect(progress).toMatchObject({ pages: pages?.pages, pages_loaded: pages?.loaded, pages_failed: pages?.failed })
  expect(progress).toEqual({ ...before, requests: before.requests + 1, requests_settled: before.requests_settled + 1 })
})
