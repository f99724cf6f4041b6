import { sql } from 'kysely'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing'], true)
})

async function search(page: unknown): Promise<void> {
  const [listed] = await database.search()
  if (listed === undefined) throw new Error('no page was listed')
  await database.load(listed, bodyOf(page))
  await database.finish(listed.submission_id)
}

it('a company that could not be read when its calculator moved away is read again', async () => {
  const k = calculator('k')
  const before = samplePage([company('A', { calculators: [k, calculator('A/1')] }), company('B')])
  await search(before)
  const broken = { id: uuid('A'), name: 'A', calculators: 'none' }
  const moved = samplePage([company('B', { calculators: [calculator('B/1'), k] })])
  await search({ ...moved, companies: [broken, ...moved.companies] })
  // It moves back: the bytes of A are those of the first night.
  await search(before)
  const { rows } = await sql`select company_id, removed_at from calculators where calculator_id = ${uuid('k')}`.execute(
    db,
  )
  expect(rows).toEqual([{ company_id: uuid('A'), removed_at: null }])
})
