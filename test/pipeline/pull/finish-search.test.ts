import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { bodyOf, calculator, company, type SampleCompany, samplePage, uuid } from './sample-page.ts'
import { type ListedPage, type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await sql`truncate company, custom_property, company_property, calculator_variable, calculator, calculator_value,
    search_seen_company, search_seen_calculator, quarantine restart identity`.execute(db)
})

const hotels = (...names: string[]): SampleCompany[] =>
  names.map((name) => company(name, { fields: { brand: [name] } }))

/** Loads a search of these pages; the last ones stay unloaded if there are fewer bodies than pages. */
async function search(bodies: unknown[], pages = bodies.length): Promise<number> {
  const listed: ListedPage[] = await database.search(pages)
  for (const [index, body] of bodies.entries()) {
    const page = listed[index]
    if (page !== undefined) await database.load(page, bodyOf(body))
  }
  return listed[0]?.submission_id ?? 0
}

const live = async () =>
  (await db.selectFrom('companies').select('name').where('removed_at', 'is', null).orderBy('name').execute()).map(
    ({ name }) => name,
  )

const seen = async () => (await db.selectFrom('search_seen_company').selectAll().execute()).length

describe('finishSearch', () => {
  it('tombstones companies that no page showed, with their calculators, values and properties', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    const submission = await search([samplePage(hotels('A')), samplePage(hotels('C'))])
    expect(await database.finish(submission)).toEqual({ companies: 1, calculators: 1, withheld: false, reason: null })
    expect(await live()).toEqual(['A', 'C'])
    expect(await db.selectFrom('companies').select('company_id').where('removed_at', 'is not', null).execute()).toEqual(
      [{ company_id: uuid('B') }],
    )
    expect((await db.selectFrom('calculator_value').selectAll().execute()).length).toBe(4)
    expect((await db.selectFrom('company_property').selectAll().execute()).length).toBe(2)
    expect(await seen()).toBe(0)
  })

  it('lets a company that comes back live again, with everything of it', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    await database.finish(await search([samplePage(hotels('A'))]))
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    expect(await live()).toEqual(['A', 'B'])
    expect((await db.selectFrom('calculator_values').selectAll().execute()).length).toBe(4)
  })

  it('does nothing the second time, whatever the share', async () => {
    const submission = await search([samplePage(hotels('A', 'B'))])
    await database.finish(submission)
    expect(await database.finish(submission, { minSeenShare: 0 })).toEqual({
      companies: 0,
      calculators: 0,
      withheld: false,
      reason: null,
    })
    expect(await live()).toEqual(['A', 'B'])
  })

  it('keeps everything while a page is not loaded, and judges once it is', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    const listed = await database.search(2)
    const [first, second] = listed
    if (first === undefined || second === undefined) throw new Error('no pages were listed')
    await database.load(first, bodyOf(samplePage(hotels('A'))))
    expect(await database.finish(first.submission_id)).toMatchObject({ withheld: true, reason: 'pages_not_loaded' })
    await database.load(second, bodyOf({ companies: [] }))
    expect(await database.finish(first.submission_id)).toMatchObject({ companies: 1, withheld: false })
    expect(await live()).toEqual(['A'])
  })

  it('keeps everything when the search returned suspiciously little', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C', 'D', 'E'))]))
    expect(await database.finish(await search([samplePage(hotels('A', 'B'))]))).toMatchObject({
      companies: 0,
      withheld: true,
      reason: 'too_few_companies',
    })
    expect(await live()).toHaveLength(5)
    expect(await database.finish(await search([samplePage(hotels('A', 'B'))]), { minSeenShare: 0.4 })).toMatchObject({
      companies: 3,
      withheld: false,
    })
  })

  it('keeps everything when the search returned nothing at all', async () => {
    await database.finish(await search([samplePage(hotels('A'))]))
    expect(await database.finish(await search([{ companies: [] }]))).toMatchObject({
      withheld: true,
      reason: 'too_few_companies',
    })
    expect(await live()).toEqual(['A'])
  })

  it('keeps everything when a company could not be told from others', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    const page = samplePage(hotels('A', 'B'))
    const submission = await search([{ ...page, companies: [...page.companies, { ...company('C'), id: 'C' }] }])
    expect(await database.finish(submission)).toMatchObject({ withheld: true, reason: 'unidentified_companies' })
    expect(await live()).toEqual(['A', 'B', 'C'])
  })

  it('tombstones within the types that the search selected, unless the company itself is gone', async () => {
    const both = (name: string) =>
      company(name, {
        calculators: [calculator(`${name}/carbon`), calculator(`${name}/water`, { typeId: uuid('water') })],
      })
    await database.finish(await search([samplePage([both('A'), both('B'), both('C')])]))
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    const carbon = (name: string) => company(name, { calculators: [calculator(`${name}/carbon`)] })
    const calculatorTypeIds = [uuid('carbon')]
    await database.load(page, bodyOf(samplePage([carbon('A'), carbon('B')])), { calculatorTypeIds })
    expect(await database.finish(page.submission_id, { calculatorTypeIds })).toMatchObject({
      companies: 1,
      calculators: 2,
    })
    const { rows } = await sql<{ name: string; calculators: number }>`
      select c.name, count(*) as calculators from companies c join calculators k using (company_id)
      where k.removed_at is null group by 1 order by 1`.execute(db)
    expect(rows).toEqual([
      { name: 'A', calculators: 2 },
      { name: 'B', calculators: 2 },
    ])
  })
})
