import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { searchDatabase } from '../pipeline/pull/search-database.ts'

const script = fileURLToPath(new URL('../pipeline/pull/fixtures/load-large-page.ts', import.meta.url))
const megabytes = 1000

it(`the pull loads a page of ${megabytes} MB with a heap of 256 MB in at most 350 MB of memory`, async () => {
  await using database = await searchDatabase()
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  const bytes = megabytes * 1_000_000
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-old-space-size=256',
    script,
    database.url,
    String(page.page_id),
    String(page.submission_id),
    String(bytes),
  ])
  const counts = JSON.parse(stdout) as { bytes: number; companies: number; values: number; peakRss: number }
  expect(counts.bytes).toBeGreaterThanOrEqual(bytes)
  expect(counts.values).toBe(counts.companies * 40)
  process.stdout.write(`A page of ${megabytes} MB: at most ${Math.round(counts.peakRss / 1e6)} MB of memory.\n`)
  expect(counts.peakRss).toBeLessThanOrEqual(350_000_000)
})
