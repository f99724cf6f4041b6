import { afterAll, beforeEach, expect, it } from 'vitest'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing'], true)
})

it('the pull loads with care a page of whose trouble only a later statement tells', async () => {
  const known = (mark: string): SampleCompany[] =>
    Array.from({ length: 80 }, (_, index) =>
      company(`known ${index}`, {
        calculators: [calculator(`known ${index}/1`, { outputs: { total: mark.repeat(100_000) } })],
      }),
    )
  const [before] = await database.search()
  if (before === undefined) throw new Error('no page was listed')
  await database.load(before, bodyOf(samplePage(known('a')), 64_000))
  await database.finish(before.submission_id)
  // One calculator of two new companies, in more rows than one COPY takes; behind them many companies that changed.
  const fresh = Array.from({ length: 20 }, (_, index) =>
    company(`fresh ${index}`, {
      calculators: Array.from({ length: 1_000 }, (_, k) =>
        calculator(k === 0 && index < 2 ? 'shared' : `fresh ${index}/${k}`, { inputs: {}, outputs: {} }),
      ),
    }),
  )
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  const counts = await database.load(page, bodyOf(samplePage([...fresh, ...known('b')]), 64_000))
  expect(counts).toMatchObject({ companies: 100, calculators: 20_079, changed: 80, quarantined: 1 })
})
