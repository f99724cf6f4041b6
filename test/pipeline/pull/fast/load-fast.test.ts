import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createNameKeys } from '../../../../src/pipeline/pull/merge/key-blocks.ts'
import { emptyTables, pulledTables } from '../../../helpers/empty-tables.ts'
import {
  bodyOf,
  calculator,
  company,
  type SampleCalculator,
  type SampleCompany,
  samplePage,
  uuid,
} from '../sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing'], true)
})

/** Loads the pages of a search of its own, one after another, and ends it. */
async function search(pages: unknown[], over?: Parameters<SearchDatabase['load']>[2]) {
  const listed = await database.search(pages.length)
  const counts = []
  for (const [index, page] of listed.entries()) counts.push(await database.load(page, bodyOf(pages[index]), over))
  const { submission_id: submissionId = 0 } = listed[0] ?? {}
  return { counts, listed, finished: await database.finish(submissionId) }
}

const hotels = (count: number, over: (index: number) => Partial<SampleCompany> = () => ({})): SampleCompany[] =>
  Array.from({ length: count }, (_, index) => company(`hotel ${index}`, over(index)))

/** Where every row lies and which transaction wrote it. */
const written = async () => {
  const { rows } = await sql`
    select tableoid::regclass::text, ctid::text, xmin::text from company
    union all select tableoid::regclass::text, ctid::text, xmin::text from calculator
    union all select tableoid::regclass::text, ctid::text, xmin::text from calculator_value
    order by 1, 2`.execute(db)
  return rows
}

const live = async () =>
  (await db.selectFrom('calculators').select('calculator_id').where('removed_at', 'is', null).execute())
    .map(({ calculator_id }) => calculator_id)
    .toSorted()

describe('a page that comes again', () => {
  it('a page that comes again is neither read nor written where its companies are as they were', async () => {
    const page = samplePage(hotels(300))
    const first = await search([page])
    expect(first.counts).toMatchObject([{ companies: 300, added: 600, unchanged: 0, care: null }])
    const before = await written()
    const second = await search([page])
    expect(second.counts).toMatchObject([
      { companies: 300, calculators: 300, values: 600, added: 0, changed: 0, removed: 0, unchanged: 300, care: null },
    ])
    expect(second.finished).toEqual({ companies: 0, calculators: 0, values: 0, withheld: false, reason: null })
    expect(await written()).toEqual(before)
  })

  it('writes what changed and nothing of the others', async () => {
    await search([samplePage(hotels(300))])
    const changed = hotels(300, (index) =>
      index % 100 === 7 ? { calculators: [calculator(`hotel ${index}/1`, { outputs: { total: '9' } })] } : {},
    )
    const { counts } = await search([samplePage(changed)])
    expect(counts).toMatchObject([{ companies: 300, values: 600, changed: 3, added: 0, unchanged: 297, care: null }])
    const { rows } = await sql`select count(*)::int as nines from calculator_values where value = '9'`.execute(db)
    expect(rows).toEqual([{ nines: 3 }])
    expect((await search([samplePage(changed)])).counts).toMatchObject([{ unchanged: 300 }])
  })

  it('a page that comes again is read again when the companies come in another order, on other pages or behind the names', async () => {
    const all = hotels(40)
    await search([samplePage(all)])
    const { companies, ...names } = samplePage(all)
    const { counts } = await search([
      { companies: companies.slice(20).toReversed(), ...names },
      { ...names, companies: companies.slice(0, 20) },
    ])
    // In whatever order: each company's own bytes decide.
    expect(counts).toMatchObject([{ unchanged: 20 }, { unchanged: 20 }])
  })

  it('a page that comes again is read again by anyone who reads other names or selects other types', async () => {
    const page = samplePage(hotels(5))
    await search([page])
    const { counts } = await search([page], { calculatorTypeIds: [uuid('carbon')] })
    expect(counts).toMatchObject([{ unchanged: 0, changed: 0, added: 0 }])
  })

  it('keeps what it listed the last time and does not list any more', async () => {
    const page = samplePage(hotels(3))
    await search([page])
    const { counts, listed } = await search([{ ...page, calculatorVariables: page.calculatorVariables?.slice(0, 1) }])
    expect(counts).toMatchObject([{ care: 'name_not_listed', quarantined: 3, removed: 0, unchanged: 0 }])
    const ids = listed.map(({ page_id }) => page_id)
    expect(await db.selectFrom('quarantine').select('reason').where('page_id', 'in', ids).execute()).toEqual(
      Array.from({ length: 3 }, () => ({ reason: 'variable_not_listed' })),
    )
    // And is read again when it is listed again.
    expect((await search([page])).counts).toMatchObject([{ added: 0, unchanged: 0, quarantined: 0 }])
    expect(await db.selectFrom('not_renewed').selectAll().execute()).toEqual([])
  })

  it('asks for no care when it no longer lists what none of its companies needs', async () => {
    const water = company('with water', { calculators: [calculator('w', { inputs: { water: '1' } })] })
    await search([samplePage([...hotels(3), water])])
    expect((await search([samplePage(hotels(3))])).counts).toMatchObject([{ unchanged: 3, care: null }])
  })

  it('restores a company that was removed, although its bytes are those of the last time', async () => {
    const page = samplePage(hotels(3))
    await search([page])
    const { finished } = await search([samplePage(hotels(2))])
    expect(finished).toMatchObject({ companies: 1, calculators: 1 })
    expect((await search([page])).counts).toMatchObject([{ unchanged: 2, added: 2 }])
    expect(await live()).toHaveLength(3)
  })
})

describe('a page that shows suspiciously little', () => {
  const bare = (count: number, from: number) => hotels(count, (index) => (index >= from ? { calculators: [] } : {}))

  it.each([
    ['fast', {}],
    ['with care', { careful: true }],
  ])('removes no calculator before the end of its search, which then withholds (%s)', async (_way, how) => {
    await search([samplePage(hotels(10))])
    const { counts, finished } = await search([samplePage(bare(10, 4))], how)
    expect(counts).toMatchObject([{ removed: 0 }])
    expect(finished).toMatchObject({ calculators: 0, withheld: true, reason: 'too_few_calculators' })
    expect(await live()).toHaveLength(10)
    // A later night that shows them finds them as they were.
    expect((await search([samplePage(hotels(10))])).counts).toMatchObject([{ added: 0, changed: 0 }])
  })

  it('keeps them also at the end of a search that shows enough on its other pages', async () => {
    await search([samplePage(hotels(10))])
    const all = bare(10, 8)
    const { counts, finished } = await search([samplePage(all.slice(0, 8)), samplePage(all.slice(8))])
    expect(counts).toMatchObject([{ unchanged: 8 }, { removed: 0 }])
    expect(finished).toMatchObject({ calculators: 0, withheld: false })
    expect(await live()).toHaveLength(10)
    const marks = await db.selectFrom('not_renewed').select(['part', 'reason', 'withheld']).execute()
    const mark = { part: 'calculator', reason: 'too_few_calculators', withheld: true }
    expect(marks).toEqual([mark, mark])
  })

  it('removes no calculator where those that came back are all that the page shows', async () => {
    const page = (...names: string[]) => {
      const calculators = names.map((name) => calculator(name, { inputs: {}, outputs: {} }))
      return samplePage([company('A', { calculators })])
    }
    await search([page('a', 'b', 'c', 'x', 'y', 'z')])
    await search([page('a', 'b', 'c')])
    const standing = () => db.selectFrom('calculators').select('title').where('removed_at', 'is', null).execute()
    expect(await standing()).toHaveLength(3)
    await search([page('x', 'y', 'z')])
    expect(await standing()).toHaveLength(6)
  })

  it.each([
    ['fast', {}],
    ['with care', { careful: true, reading: 'tokens' as const }],
  ])('a page with little is judged by calculators of the types that the search selected (%s)', async (_way, how) => {
    const selected = { ...how, calculatorTypeIds: [uuid('carbon')] }
    const others = Array.from({ length: 4 }, (_, index) => {
      const ofAnotherType = calculator(`water ${index}`, { typeId: uuid('water') })
      return company(`other ${index}`, { calculators: [ofAnotherType] })
    })
    const pageWith = (calculators: SampleCalculator[]) => samplePage([company('A', { calculators }), ...others])
    const { inputs: _inputs, ...bare } = calculator('A/1')
    await search([pageWith([calculator('A/1')])], selected)
    expect((await search([pageWith([bare])], selected)).counts).toMatchObject([{ removed: 0 }])
    expect((await search([pageWith([])], selected)).counts).toMatchObject([{ removed: 0 }])
    const marks = await db.selectFrom('not_renewed').select(['part', 'reason']).orderBy('part').execute()
    expect(marks).toEqual([
      { part: 'calculator', reason: 'too_few_calculators' },
      { part: 'value', reason: 'too_few_inputs' },
    ])
  })

  it('removes at once what is missing of a page that shows enough', async () => {
    await search([samplePage(hotels(10))])
    expect((await search([samplePage(bare(10, 8))])).counts).toMatchObject([{ removed: 4, unchanged: 8 }])
    expect(await live()).toHaveLength(8)
  })
})

describe('a page is loaded with care', () => {
  it.each([
    ['company_twice', [company('A'), company('A')]],
    ['calculator_twice', [company('A', { calculators: [calculator('k'), calculator('k')] })]],
  ] as const)('a page is loaded with care when what it changes is there as %s', async (care, changed) => {
    await search([samplePage([company('A', { name: 'Old', calculators: [calculator('k0')] })])])
    expect((await search([samplePage([...changed])])).counts).toMatchObject([{ care, quarantined: 1 }])
  })

  it('a page is loaded with care when a calculator moves, and the company that lost it is read again', async () => {
    await search([samplePage([company('A', { calculators: [calculator('k'), calculator('k2')] }), company('B')])])
    const moved = samplePage([company('B', { calculators: [calculator('B/1'), calculator('k')] })])
    const [page] = await database.search()
    if (page === undefined) throw new Error('no page was listed')
    expect(await database.load(page, bodyOf(moved))).toMatchObject({ care: 'calculator_of_other_company', removed: 0 })
    const { rows } = await sql`select name from company where content_hash is null`.execute(db)
    expect(rows).toEqual([{ name: 'A' }])
  })

  it('a page is loaded with care when two new companies are one, or have one calculator', async () => {
    expect((await search([samplePage([company('A'), company('A')])])).counts).toMatchObject([
      { care: 'same_rows_twice', companies: 1, quarantined: 1 },
    ])
    const shared = samplePage([
      company('B', { calculators: [calculator('k')] }),
      company('C', { calculators: [calculator('k')] }),
    ])
    expect((await search([shared])).counts).toMatchObject([{ care: 'same_rows_twice', calculators: 1, quarantined: 1 }])
  })

  it('a page is loaded with care without keeping others waiting until it has arrived', async () => {
    const [slow, other] = await database.search(2)
    if (slow === undefined || other === undefined) throw new Error('no pages were listed')
    const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const [page = '', end = ''] = JSON.stringify(samplePage([company('slow')])).split(/(?=\]\}$)/)
    async function* trickling() {
      yield Buffer.from(page)
      begin()
      await rest
      yield Buffer.from(end)
    }
    const careful = database.load(slow, trickling(), { careful: true })
    await begun
    const fast = database.load(other, bodyOf(samplePage([company('other')])))
    const first = await Promise.race([fast, new Promise((resolve) => setTimeout(resolve, 10_000, 'waited').unref())])
    sendRest()
    expect(first).toMatchObject({ companies: 1, care: null })
    expect(await careful).toMatchObject({ companies: 1, care: 'asked' })
  })

  it('a page is loaded with care when a company is on two pages, and neither removes what the other has', async () => {
    const half = (name: string) => samplePage([company('A', { calculators: [calculator(name)] })])
    await search([half('k1'), half('k2')])
    expect(await live()).toHaveLength(2)
    for (const night of [
      [half('k1'), half('k2')],
      [half('k2'), half('k1')],
    ]) {
      const { counts, finished } = await search(night)
      expect(counts).toMatchObject([{ removed: 0 }, { removed: 0, care: 'company_on_many_pages' }])
      expect(finished).toMatchObject({ calculators: 0, withheld: false })
      expect(await live()).toHaveLength(2)
    }
    // What neither holds any more goes at the end.
    const { finished } = await search([half('k1'), half('k1')])
    expect(finished).toMatchObject({ calculators: 1 })
    expect(await live()).toEqual([uuid('k1')])
  })
})

it('the fast way finds new names beside another page that has them in another order', async () => {
  for (const of of ['variable', 'property'] as const) {
    const ids = Array.from({ length: 5_000 }, (_, index) => `name-${index}`)
    const [one, other] = [createNameKeys(db, of), createNameKeys(db, of)]
    await Promise.all([one.resolve(ids), other.resolve(ids.toReversed())])
    expect(ids.map((id) => one.keyOf(id))).toEqual(ids.map((id) => other.keyOf(id)))
  }
})

it('the fast way keeps the names of a page that fails out of the views', async () => {
  const [listed] = await database.search()
  if (listed === undefined) throw new Error('no page was listed')
  const page = JSON.stringify({ ...samplePage(hotels(2)), more: null })
  await expect(database.load(listed, bodyOf(page.slice(0, -1)))).rejects.toThrow(/malformed/)
  expect(await db.selectFrom('calculator_variables').selectAll().execute()).toEqual([])
  expect(await db.selectFrom('companies').selectAll().execute()).toEqual([])
})

it('the fast way takes hardly more keys than a page has new rows', async () => {
  const newest = async () =>
    (
      await sql<{ company: number; calculator: number }>`
      select max(company_key) as company, max(calculator_key) as calculator from company join calculator using (company_key)
    `.execute(db)
    ).rows[0]
  for (let page = 1; page <= 20; page++) await search([samplePage([company(`hotel ${page}`)])])
  expect(await newest()).toEqual({ company: 20, calculator: 20 })
  await search([samplePage(hotels(3_000))])
  const { company: companies = 0, calculator: calculators = 0 } = (await newest()) ?? {}
  expect(companies).toBeLessThan(4_100)
  expect(calculators).toBeLessThan(6_100)
})

it('the fast way takes the keys of a company with very many calculators', async () => {
  const calculators = Array.from({ length: 150_000 }, (_, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`
    return { id, typeId: id, title: 'T', period: { year: 2025 } }
  })
  const page = { companies: [company('Aske', { calculators })] }
  const { counts } = await search([page], { limits: { maxElementSize: 64 * 1024 * 1024 } })
  expect(counts).toMatchObject([{ companies: 1, calculators: 150_000, care: null }])
})
