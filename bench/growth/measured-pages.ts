import type pg from 'pg'
import { createDatabase } from '../../src/db/database.ts'
import type { Contract } from '../../src/exchange/contract.ts'
import { loadPage } from '../../src/pipeline/pull/load-page.ts'
import { countRestorable, restoreRemoved } from '../../src/pipeline/pull/removals/restore-removed.ts'
import { acceptRemovals } from '../../src/pipeline/pull/removals/take-removals.ts'
import { finishSearch } from '../../src/pipeline/pull/search/whole-search.ts'
import { generatePage, type PageOptions } from '../generate-page.ts'

const calculatorsEach = 3
const valuesEach = 3
const limits = { maxDepth: 64, maxElementSize: 1_000_000, maxQuarantineRows: 1_000 }
/** No page is to be held back because it shows little of what is known. */
const minSeenShare = 0.1

type Shown = Partial<PageOptions> & {
  /** Of the companies, from 0 to 1. */
  share?: number
  /** Whether every company has something that cannot be read. */
  faulty?: boolean
  /** Whether every company has the calculators of the one before it. */
  moved?: boolean
}

type Search = { stage: string; careful?: boolean; shown: readonly Shown[] }

/** What searches find after another: one page, or the same companies on two. A page has a third of the rows. */
const searches: Search[] = [
  { stage: 'page, new', shown: [{}] },
  { stage: 'page, half changed', shown: [{ changed: 0.5 }] },
  { stage: 'page, calculators gone', shown: [{ calculatorsEach: calculatorsEach - 1 }] },
  { stage: 'page, with care', careful: true, shown: [{ changed: 0.5 }] },
  { stage: 'page, much that cannot be read', shown: [{ changed: 0.2, faulty: true }] },
  { stage: 'pages, two of the same companies', shown: [{}, { changed: 0.5, calculatorsEach: calculatorsEach - 1 }] },
  { stage: 'page, calculators moved', shown: [{ moved: true }] },
  { stage: 'pages, calculators of two companies', shown: [{ moved: true }, {}] },
  { stage: 'page, companies gone', shown: [{ share: 0.8 }] },
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
  for (const { stage: name, careful = false, shown } of searches) {
    const listed = await listPages(pool, runId, shown.length)
    for (const [at, { share = 1, ...options }] of shown.entries()) {
      const companies = Math.round((rows * share) / calculatorsEach)
      const open = async () => ({ body: bytesOf(companies, options, contract), close: () => {} })
      const page = listed[at] ?? noPage()
      await stage(`${name}, ${at + 1}`, () => loadPage(pool, page, open, { contract, limits, careful, minSeenShare }))
    }
    const { submission_id } = listed[0] ?? noPage()
    await stage(`${name}: end`, () =>
      db.transaction().execute((trx) => finishSearch(trx, submission_id, { minSeenShare })),
    )
  }
  await stage('what can be brought back', () => countRestorable(db, {}))
  await stage('removals brought back', () => db.transaction().execute((trx) => restoreRemoved(trx, {})))
  await stage('removals accepted', () => db.transaction().execute((trx) => acceptRemovals(trx, { reason: 'restored' })))
}

async function* bytesOf(
  companies: number,
  { faulty, moved, ...options }: Shown,
  contract: Contract,
): AsyncGenerator<Buffer> {
  const page = generatePage({ seed: 1, companies, calculatorsEach, valuesEach, ...options }, contract)
  const replaced = faulty === true ? faults(contract) : []
  const opening = new RegExp(`^,?\\{"${contract.names.calculatorsPage.id}":"([^"]+)"`)
  let before = 'ffffffff-ffff-4fff-bfff-ffffffffffff'
  yield Buffer.from(page.head)
  for (const company of page.companies) {
    const id = opening.exec(company)?.[1] ?? ''
    const owned = moved === true ? company.replace(id, before) : company
    before = id
    yield Buffer.from(replaced.reduce((text, [fault, by]) => text.replace(fault, by), owned))
  }
  yield Buffer.from(page.tail)
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

async function listPages(
  pool: pg.Pool,
  runId: number,
  pages: number,
): Promise<{ page_id: number; submission_id: number }[]> {
  const { rows } = await pool.query<{ page_id: number; submission_id: number }>(
    `with asked as (
       insert into submission (run_id, kind, state, row_count)
       values ($1, 'calculators_search', 'settled', 0) returning submission_id
     )
     insert into search_page (submission_id, ordinal, url, state)
     select submission_id, page, 'https://pages.example/' || page, 'listed' from asked, generate_series(1, $2) as page
     returning page_id::int, submission_id::int`,
    [runId, pages],
  )
  return rows
}

function noPage(): never {
  throw new Error('no page was listed')
}
