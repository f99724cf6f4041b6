import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { reasonToWithhold } from '../../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables, pulledTables } from '../../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage, uuid } from '../sample-page.ts'
import { type ListedPage, type SearchDatabase, searchDatabase } from '../search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, pulledTables, true)
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
    expect(await database.finish(submission)).toEqual({
      companies: 1,
      calculators: 1,
      values: 0,
      withheld: false,
      reason: null,
    })
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
      values: 0,
      withheld: false,
      reason: null,
    })
    expect(await live()).toEqual(['A', 'B'])
  })

  it('does nothing the second time where no company of the search could be read', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    const unreadable = hotels('A', 'B').map((hotel) => ({ ...hotel, calculators: null }))
    const submission = await search([{ ...samplePage([]), companies: unreadable }])
    const first = await database.finish(submission)
    const marks = () => db.selectFrom('unrenewed_part').selectAll().orderBy('company_key').execute()
    const noted = await marks()
    await db
      .updateTable('submission')
      .set({ search_result: JSON.stringify(first) })
      .where('submission_id', '=', submission)
      .execute()
    await database.finish(submission, { minSeenShare: 0 })
    expect(await marks()).toEqual(noted)
    expect(await live()).toEqual(['A', 'B'])
  })

  it('keeps everything where one page may have been loaded in the place of another', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    const submission = await search([samplePage(hotels('A')), samplePage(hotels('B'))])
    await db
      .updateTable('search_page')
      .set({ guessed: true })
      .where('submission_id', '=', submission)
      .where('ordinal', '=', 1)
      .execute()
    expect(await database.finish(submission)).toMatchObject({ withheld: true, reason: 'pages_guessed' })
    expect(await live()).toEqual(['A', 'B', 'C'])
  })

  it('keeps everything when a company could not be told from others, behind more that was left out than is kept', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    const unreadable = hotels('A', 'B').map((hotel) => ({ ...hotel, calculators: null }))
    const companies = [...unreadable, { ...company('C'), id: null }]
    await database.load(page, bodyOf({ ...samplePage([]), companies }), { limits: { maxQuarantineRows: 1 } })
    expect(await database.finish(page.submission_id)).toMatchObject({ reason: 'unidentified_companies' })
    expect(await live()).toEqual(['A', 'B', 'C'])
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

  it('marks no company that a page shows as it was, once that page is loaded', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    const [first, second] = await database.search(2)
    if (first === undefined || second === undefined) throw new Error('no pages were listed')
    await database.load(first, bodyOf(samplePage(hotels('A'))))
    await database.finish(first.submission_id)
    expect(await db.selectFrom('not_renewed').select(['part', 'reason']).execute()).toMatchObject([{ part: 'company' }])
    expect(await database.load(second, bodyOf(samplePage(hotels('B'))))).toMatchObject({ unchanged: 1 })
    await database.finish(first.submission_id)
    expect(await db.selectFrom('not_renewed').select(['part', 'reason']).execute()).toEqual([])
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

  it('keeps what a search that succeeded in part lacks, and offers none of it for removal', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C', 'D', 'E'))]))
    const partly = await search([samplePage(hotels('A', 'B'))])
    expect(await database.finish(partly, { partial: true })).toMatchObject({ withheld: true, reason: 'search_partial' })
    const marks = db.selectFrom('unrenewed_part').select(['part', 'reason', 'withheld']).distinct()
    expect(await marks.execute()).toEqual([{ part: 'company', reason: 'search_partial', withheld: false }])
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

const nothingGone = { companies: 0, calculators: 0, values: 0, withheld: false, reason: null }

describe('the guard against suspiciously little', () => {
  const evidence = {
    finished: false,
    pages: 1,
    pagesNotLoaded: 0,
    pagesGuessed: 0,
    unidentifiedCompanies: 0,
    knownCompanies: 100,
    seenCompanies: 100,
    knownCalculators: 100,
    seenCalculators: 100,
  }

  it.each([0.07, 0.29, 0.5, 0.55, 0.57, 1])('lets exactly the share of %d pass, and one less not', (share) => {
    const seen = Math.round(share * 100)
    expect(reasonToWithhold({ ...evidence, seenCompanies: seen, seenCalculators: seen }, share)).toBeNull()
    expect(reasonToWithhold({ ...evidence, seenCompanies: seen - 1 }, share)).toBe('too_few_companies')
    expect(reasonToWithhold({ ...evidence, seenCalculators: seen - 1 }, share)).toBe('too_few_calculators')
  })

  it('has nothing to say where nothing is known, whatever the share', () => {
    const nothing = { ...evidence, knownCompanies: 0, seenCompanies: 0, knownCalculators: 0, seenCalculators: 0 }
    expect(reasonToWithhold(nothing, 1)).toBeNull()
    expect(reasonToWithhold(nothing, 0)).toBeNull()
  })

  it('keeps everything when the companies are there and few of the calculators', async () => {
    const many = company('Large', { calculators: Array.from({ length: 9 }, (_, n) => calculator(`Large/${n}`)) })
    await database.finish(await search([samplePage([many, ...hotels('A', 'B')])]))
    expect(await database.finish(await search([samplePage(hotels('A', 'B'))]))).toMatchObject({
      withheld: true,
      reason: 'too_few_calculators',
    })
    expect(await live()).toEqual(['A', 'B', 'Large'])
    expect(await database.finish(await search([samplePage(hotels('A', 'B'))]), { minSeenShare: 0.1 })).toMatchObject({
      companies: 1,
      calculators: 9,
    })
  })

  it('keeps everything when the search returned as much as is known, and all of it is new', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    expect(await database.finish(await search([samplePage(hotels('X', 'Y', 'Z'))]))).toMatchObject({
      withheld: true,
      reason: 'too_few_companies',
    })
    expect(await live()).toEqual(['A', 'B', 'C', 'X', 'Y', 'Z'])
  })

  it('keeps everything when the search returned as much as is known, and all of it was gone before', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C', 'X', 'Y', 'Z'))]))
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]), { minSeenShare: 0.5 })
    expect(await live()).toEqual(['A', 'B', 'C'])
    expect(await database.finish(await search([samplePage(hotels('X', 'Y', 'Z'))]))).toMatchObject({
      withheld: true,
      reason: 'too_few_companies',
    })
    expect(await live()).toEqual(['A', 'B', 'C', 'X', 'Y', 'Z'])
  })

  it('counts what came back with an earlier search among what is known', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
    expect(await database.finish(await search([samplePage(hotels('A'))]))).toMatchObject({
      reason: 'too_few_companies',
    })
    expect(await live()).toEqual(['A', 'B', 'C'])
  })

  it('keeps the calculators of a company on two pages where those that came back are all that the search returned', async () => {
    const pages = (...names: string[][]) =>
      search(names.map((of) => samplePage([company('A', { calculators: of.map((name) => calculator(name)) })])))
    const standing = () => db.selectFrom('calculator').select('title').where('removed_at', 'is', null).execute()
    await database.finish(await pages(['a', 'b', 'c'], ['x', 'y', 'z']))
    await database.finish(await pages(['a', 'b'], ['c']))
    expect(await standing()).toHaveLength(3)
    expect(await database.finish(await pages(['x', 'y'], ['z']))).toMatchObject({
      withheld: true,
      reason: 'too_few_calculators',
    })
    expect(await standing()).toHaveLength(6)
  })

  it('counts a calculator that one page of the search removed and the next one shows among what is known', async () => {
    const page = (...names: string[]) =>
      samplePage([company('A', { calculators: names.map((name) => calculator(name)) })])
    await database.finish(await search([page('a', 'b')]))
    const listed = await database.search(2)
    const [first, second] = listed
    if (first === undefined || second === undefined) throw new Error('no pages were listed')
    await database.load(first, bodyOf(page('a')))
    const gone = db.selectFrom('calculator').select('returned_at').where('removed_at', 'is not', null)
    expect(await gone.execute()).toEqual([{ returned_at: null }])
    await database.load(second, bodyOf(page('b')))
    const both = [{ removed_at: null, returned_at: null }]
    expect(await db.selectFrom('calculator').select(['removed_at', 'returned_at']).distinct().execute()).toEqual(both)
  })

  it('does not count what is tombstoned among what is known', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B', 'C', 'D', 'E'))]))
    await database.finish(await search([samplePage(hotels('A', 'B'))]), { minSeenShare: 0.4 })
    expect(await database.finish(await search([samplePage(hotels('A'))]))).toMatchObject({ companies: 1 })
    expect(await live()).toEqual(['A'])
  })

  describe('after the clock of our database was put back', () => {
    const firstSeenAhead = async () => {
      for (const table of ['company', 'calculator']) {
        await sql`update ${sql.table(table)} set first_seen_at = now() + interval '1 hour'`.execute(db)
      }
    }

    it('keeps everything when the search returned nothing at all', async () => {
      await database.finish(await search([samplePage(hotels('A', 'B'))]))
      await firstSeenAhead()
      expect(await database.finish(await search([{ companies: [] }]))).toMatchObject({ reason: 'too_few_companies' })
      expect(await live()).toEqual(['A', 'B'])
    })

    it('lets one of several go', async () => {
      await database.finish(await search([samplePage(hotels('A', 'B', 'C'))]))
      await firstSeenAhead()
      expect(await database.finish(await search([samplePage(hotels('A', 'B'))]))).toMatchObject({ companies: 1 })
      expect(await live()).toEqual(['A', 'B'])
    })

    it('counts what the search brought as new, where it was planned by the clock that was ahead', async () => {
      await database.finish(await search([samplePage(hotels('A', 'B'))]))
      const submission = await search([samplePage(hotels('X', 'Y', 'Z'))])
      await sql`update submission set planned_at = now() + interval '1 hour' where submission_id = ${submission}`.execute(
        db,
      )
      await sql`
        update company set first_seen_at = now() + interval '61 minutes' where name in ('X', 'Y', 'Z')`.execute(db)
      expect(await database.finish(submission)).toMatchObject({ reason: 'too_few_companies' })
    })
  })

  it('lets a first search return nothing, and a later one an empty page, but not no page at all', async () => {
    expect(await database.finish(await search([{ companies: [] }]))).toEqual(nothingGone)
    const { run_id } = await db.selectFrom('run').select('run_id').executeTakeFirstOrThrow()
    const withoutPages = async () => {
      const { submission_id } = await db
        .insertInto('submission')
        .values({ run_id, kind: 'calculators_search', state: 'settled', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      return submission_id
    }
    expect(await database.finish(await withoutPages())).toEqual(nothingGone)
    await database.finish(await search([samplePage(hotels('A'))]))
    for (const share of [{}, { minSeenShare: 0 }]) {
      expect(await database.finish(await withoutPages(), share)).toMatchObject({ withheld: true, reason: 'no_pages' })
      expect(await live()).toEqual(['A'])
    }
    const marks = db.selectFrom('unrenewed_part').select(['part', 'reason', 'withheld'])
    expect(await marks.execute()).toEqual([{ part: 'company', reason: 'no_pages', withheld: false }])
    const emptyPage = await search([{ companies: [] }])
    expect(await database.finish(emptyPage, { minSeenShare: 0 })).toMatchObject({ withheld: false, companies: 1 })
  })

  it('counts a company whose values could not be read as seen', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B'))]))
    const page = samplePage(hotels('A', 'B'))
    const spoilt = { ...page, companies: page.companies.map((one) => ({ ...one, calculators: null })) }
    expect(await database.finish(await search([spoilt]), { minSeenShare: 1 })).toEqual(nothingGone)
    expect((await db.selectFrom('calculator_values').selectAll().execute()).length).toBe(4)
  })
})

describe('from one night to the next', () => {
  it('nothing is gone when companies change their pages, and nothing of them is written', async () => {
    await database.finish(await search([samplePage(hotels('A', 'B')), samplePage(hotels('C', 'D'))]))
    const times = () => db.selectFrom('company').select(['company_id', 'changed_at']).orderBy('company_id').execute()
    const before = await times()
    expect(await database.finish(await search([samplePage(hotels('D', 'C')), samplePage(hotels('B', 'A'))]))).toEqual(
      nothingGone,
    )
    expect(await database.finish(await search([samplePage(hotels('D', 'C', 'B', 'A'))]))).toEqual(nothingGone)
    expect(await times()).toEqual(before)
  })

  it('a narrower choice of types keeps what it does not select, until a search that selects it', async () => {
    const both = (name: string) =>
      company(name, {
        calculators: [calculator(`${name}/carbon`), calculator(`${name}/water`, { typeId: uuid('water') })],
      })
    const carbon = (name: string) => company(name, { calculators: [calculator(`${name}/carbon`)] })
    const calculatorsLeft = async () =>
      (await db.selectFrom('calculator').select('calculator_id').where('removed_at', 'is', null).execute()).length
    const narrow = async (calculatorTypeIds: string[], ...companies: SampleCompany[]) => {
      const [page] = await database.search()
      if (page === undefined) throw new Error('no page was listed')
      await database.load(page, bodyOf(samplePage(companies)), { calculatorTypeIds })
      return await database.finish(page.submission_id, { calculatorTypeIds })
    }
    await narrow([], both('A'), both('B'))
    expect(await narrow([uuid('carbon')], carbon('A'), carbon('B'))).toEqual(nothingGone)
    expect(await calculatorsLeft()).toBe(4)
    const none = (name: string) => company(name, { calculators: [] })
    expect(await narrow([uuid('waste')], none('A'), none('B'))).toEqual(nothingGone)
    expect(await calculatorsLeft()).toBe(4)
    await narrow([], carbon('A'), carbon('B'))
    expect(await calculatorsLeft()).toBe(2)
  })
})
