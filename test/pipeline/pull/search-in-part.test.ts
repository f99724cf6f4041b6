import { afterAll, expect, it } from 'vitest'
import { bodyOf, calculator, company, samplePage } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

it('a company on two pages keeps what stood on the one that does not come, night after night', async () => {
  const half = (name: string) => bodyOf(samplePage([company('A', { calculators: [calculator(name)] })]))
  const [first, second] = await database.search(2)
  if (first === undefined || second === undefined) throw new Error('no pages were listed')
  await database.load(first, half('k1'))
  await database.load(second, half('k2'))
  await database.finish(first.submission_id)
  for (let night = 0; night < 2; night++) {
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    await database.load(page, half('k1'))
    const finished = await database.finish(page.submission_id, { partial: true })
    expect(finished).toMatchObject({ withheld: true, reason: 'search_partial' })
  }
  expect(await db.selectFrom('calculators').selectAll().where('removed_at', 'is not', null).execute()).toEqual([])
})
