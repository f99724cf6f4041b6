import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { searchDatabase } from '../../pipeline/pull/search-database.ts'

const script = fileURLToPath(new URL('../../pipeline/pull/fixtures/load-large-page.ts', import.meta.url))

it('the pull loads a page of 60 MB with a heap of 96 MB', async () => {
  await using database = await searchDatabase()
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  const bytes = 60_000_000
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-old-space-size=96',
    script,
    database.url,
    String(page.page_id),
    String(page.submission_id),
    String(bytes),
  ])
  const counts = JSON.parse(stdout) as { bytes: number; companies: number; values: number }
  expect(counts.bytes).toBeGreaterThanOrEqual(bytes)
  expect(counts.values).toBe(counts.companies * 40)
})
