import { sql } from 'kysely'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing'], true)
})

const both = company('both', { calculators: [calculator('k1'), calculator('k2')] })
const changed = company('both', { calculators: [calculator('k1', { outputs: { total: '9' } })] })
/** So many that those amid them are marked as seen while the page is still being read. */
const many = Array.from({ length: 5_000 }, (_, index) => company(`hotel ${index}`)).toSpliced(2_000, 0, both)

/**
 * Loads, of one search, a page with `both` as it was and half-way through it one where it changed, which waits for its
 * end.
 */
async function loadTwoPages() {
  const [before] = await database.search()
  if (before === undefined) throw new Error('no page was listed')
  await database.load(before, bodyOf(samplePage(many), 64_000))
  await database.finish(before.submission_id)

  const [long, short] = await database.search(2)
  if (long === undefined || short === undefined) throw new Error('no pages were listed')
  const names = ['electricity', 'total'].map((id) => ({ id, name: `name of ${id}` }))
  const open = Promise.withResolvers<void>()
  const first = JSON.stringify({ calculatorVariables: names, companies: many })
  const split = first.indexOf(uuid('hotel 4999'))
  async function* halfWay() {
    yield* bodyOf(first.slice(0, split), 64_000)
    await open.promise
    yield* bodyOf(first.slice(split), 64_000)
  }
  const loading = database.load(long, halfWay())
  await vi.waitFor(async () => expect(await marks()).toBeGreaterThan(0), { timeout: 60_000 })
  const other = database.load(short, bodyOf({ calculatorVariables: names, companies: [changed] }))
  await vi.waitFor(async () => expect(await waiting()).toBeGreaterThan(0), { timeout: 60_000 })
  open.resolve()
  return { counts: await Promise.all([loading, other]), submissionId: long.submission_id }
}

/** Rows of what is seen that a transaction under way has written. */
async function marks(): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_relation_size('search_seen_company') as bytes`.execute(db)
  return rows[0]?.bytes ?? 0
}

/** Transactions that wait for another to end. */
async function waiting(): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where datname = current_database() and wait_event = 'transactionid'`.execute(db)
  return rows[0]?.count ?? 0
}

it('a company that changed on one page and on another is as it was loses no calculator of either', async () => {
  const { counts, submissionId } = await loadTwoPages()
  expect(counts).toMatchObject([{ unchanged: 5_001 }, { care: 'company_on_many_pages', removed: 0 }])
  await database.finish(submissionId)
  const { rows } = await sql`select calculator_id from calculators where removed_at is not null`.execute(db)
  expect(rows).toEqual([])
})
