import type pg from 'pg'
import { createDatabase } from '../../src/db/database.ts'
import type { Contract } from '../../src/exchange/contract.ts'
import { loadPage } from '../../src/pipeline/pull/load-page.ts'
import { countRestorable, restoreRemoved } from '../../src/pipeline/pull/removals/restore-removed.ts'
import { acceptRemovals } from '../../src/pipeline/pull/removals/take-removals.ts'
import { finishSearch } from '../../src/pipeline/pull/search/finish-search.ts'
import { type GeneratedPage, generatePage, type PageOptions } from '../generate-page.ts'

const calculatorsEach = 3
const valuesEach = 3
const limits = { maxDepth: 64, maxElementSize: 1_000_000, maxQuarantineRows: 1_000 }
/** No page is to be held back because it shows little of what is known. */
const minSeenShare = 0.1

type Search = {
  stage: string
  careful?: boolean
  /** Of the companies, from 0 to 1. */
  share?: number
  page?: Partial<PageOptions>
  /** Whether every company has something that cannot be read. */
  faulty?: boolean
}

/** What searches of one page find after another, each with companies for a third of the rows. */
const searches: Search[] = [
  { stage: 'page, new' },
  { stage: 'page, half changed', page: { changed: 0.5 } },
  { stage: 'page, calculators gone', page: { calculatorsEach: calculatorsEach - 1 } },
  { stage: 'page, with care', careful: true, page: { changed: 0.5 } },
  { stage: 'page, much that cannot be read', page: { changed: 0.2 }, faulty: true },
  { stage: 'page, companies gone', share: 0.8 },
]

/**
 * Loads the pages of `searches` and ends each search, then brings back what they removed and removes it again; each of
 * these is a stage of its own.
 */
export async function searchAgain(
  { pool, contract, runId }: { pool: pg.Pool; contract: Contract; runId: number },
  rows: number,
  stage: <T>(name: string, work: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const db = createDatabase(pool)
  for (const { stage: name, careful = false, share = 1, page: options, faulty = false } of searches) {
    const companies = Math.round((rows * share) / calculatorsEach)
    const generated = generatePage({ seed: 1, companies, calculatorsEach, valuesEach, ...options }, contract)
    const page = await listPage(pool, runId)
    const open = async () => ({ body: bytesOf(generated, faulty ? faults(contract) : []), close: () => {} })
    await stage(name, () => loadPage(pool, page, open, { contract, limits, careful, minSeenShare }))
    await stage(`${name}: end`, () =>
      db.transaction().execute((trx) => finishSearch(trx, page.submission_id, { minSeenShare })),
    )
  }
  await stage('what can be brought back', () => countRestorable(db, {}))
  await stage('removals brought back', () => db.transaction().execute((trx) => restoreRemoved(trx, {})))
  await stage('removals accepted', () => db.transaction().execute((trx) => acceptRemovals(trx, { reason: 'restored' })))
}

/** A calculator whose year cannot be read, a title and a property without a value, and a value that is none. */
function faults({ names: { calculatorsPage: names } }: Contract): [RegExp, string][] {
  return [
    [new RegExp(`"${names.year}":2025`), `"${names.year}":"soon"`],
    [new RegExp(`"${names.title}":"Water"`), `"${names.title}":null`],
    [/\["[^"]*"\]/, 'null'],
    [/"\d+\.\d+"\}/, '{}}'],
  ]
}

async function* bytesOf(
  { head, companies, tail }: GeneratedPage,
  replaced: readonly [RegExp, string][],
): AsyncGenerator<Buffer> {
  yield Buffer.from(head)
  for (const company of companies) {
    yield Buffer.from(replaced.reduce((text, [fault, by]) => text.replace(fault, by), company))
  }
  yield Buffer.from(tail)
}

async function listPage(pool: pg.Pool, runId: number): Promise<{ page_id: number; submission_id: number }> {
  const { rows } = await pool.query<{ page_id: number; submission_id: number }>(
    `with asked as (
       insert into submission (run_id, kind, state, row_count)
       values ($1, 'calculators_search', 'settled', 0) returning submission_id
     )
     insert into search_page (submission_id, ordinal, url, state)
     select submission_id, 0, 'https://pages.example/' || submission_id, 'listed' from asked
     returning page_id::int, submission_id::int`,
    [runId],
  )
  if (rows[0] === undefined) throw new Error('no page was listed')
  return rows[0]
}
