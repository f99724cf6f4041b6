import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import type { FinishOptions } from '../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { ordersOf } from './orders.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage, uuid } from './sample-page.ts'
import { searchDatabase } from './search-database.ts'

const database = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())
const clear = () => emptyTables(db, [...pulledTables, 'page_listing'], true)
beforeEach(clear)

const others = Array.from({ length: 3 }, (_, index) => company(`hotel ${index}`))
const x = (over: object) => calculator('x', over)
const a = (over: object, more: object = {}) => company('A', { calculators: [x(over)], ...more })

const { companies: _, ...names } = samplePage([
  company('all names', {
    fields: { brand: [] },
    calculators: [calculator('n', { inputs: { e: '1', only: '1', electricity: '1' } })],
  }),
])

/** One search of these pages, each loaded by itself in this order. */
async function night(pages: SampleCompany[][], order: readonly number[], select: FinishOptions = {}) {
  const listed = await database.search(pages.length)
  for (const index of order) {
    const page = listed[index]
    const body = bodyOf({ ...names, companies: pages[index] })
    if (page !== undefined) await database.load(page, body, { minSeenShare: 0, ...select })
  }
  await database.finish(listed[0]?.submission_id ?? 0, { minSeenShare: 0, ...select })
}

/** All that is known of the company A, and what was left out. */
async function known() {
  const one = async (query: ReturnType<typeof sql>) => (await query.execute(db)).rows
  return {
    companies: await one(sql`select name, removed_at is null as here from companies where company_id = ${uuid('A')}`),
    properties: await one(sql`select property_id, ordinal, value from company_properties order by 1, 2`),
    calculators: await one(sql`
      select type_id, title, period_year, period_month, removed_at is null as here from calculators
      where company_id = ${uuid('A')} order by calculator_id`),
    values: await one(sql`
      select direction, variable_id, value from calculator_values where calculator_id = ${uuid('x')} order by 1, 2`),
    marks: await one(sql`select part, reason from unrenewed_part order by 1, 2`),
    leftOut: await one(sql`select unit, item, reason, excerpt from quarantine order by 1, 2, 4`),
  }
}

/** What comes of these pages in either order, after a night with `before`. */
async function bothWays(before: SampleCompany[] | null, first: SampleCompany, second: SampleCompany) {
  const found = []
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    await clear()
    if (before !== null) await night([[...before, ...others]], [0])
    await night([[first, ...others], [second]], order)
    found.push(await known())
  }
  return found
}

const value = (excerpt: string, item: string) => ({ unit: 'value', item, reason: 'calculator_twice', excerpt })

describe('a company that two pages of one search show differently', () => {
  it.each([
    ['is new', null],
    ['stood as the first page has it', [a({ inputs: { e: '1' } })]],
    ['stood as the second page has it', [a({ inputs: { e: '2' }, outputs: { total: '9' } })]],
    ['stood otherwise', [a({ inputs: { e: '7' }, outputs: { total: '7' } })]],
  ])('has the same values in whatever order they are loaded, where it %s', async (_how, before) => {
    const pages = [
      a({ inputs: { e: '1', only: 'first' } }),
      a({ inputs: { e: '2' }, outputs: { total: '0' } }),
    ] as const
    const [one, other] = await bothWays(before, ...pages)
    expect(one).toEqual(other)
    expect(one).toMatchObject({
      values: [
        { variable_id: 'e', value: '2' },
        { variable_id: 'only', value: 'first' },
        { variable_id: 'total', value: '0.25' },
      ],
      leftOut: [value('"1"', 'e'), value('"0"', 'total')],
    })
  })

  it.each([
    ['the shorter list is the greater', ['A', 'C', 'D'], ['B']],
    ['the longer list is the greater', ['B', 'A'], ['B', 'C', 'D']],
  ])('has one of two lists of a property, whole, where %s', async (_which, less, greater) => {
    const brand = (names: string[]) => a({}, { fields: { brand: names } })
    for (const before of [null, [brand(['Z', 'Z'])]]) {
      const [one, other] = await bothWays(before, brand(less), brand(greater))
      expect(one).toEqual(other)
      expect(one?.properties).toEqual(
        greater.map((value, index) => ({ property_id: 'brand', ordinal: index + 1, value })),
      )
      expect(one?.leftOut).toMatchObject([{ unit: 'property', item: 'brand', reason: 'company_twice' }])
    }
  })

  it('has one name, and its calculator one title, type and period, in whatever order they are loaded', async () => {
    const first = a({ title: 'T1', period: { year: 2025, month: 'May' } }, { name: 'A2' })
    const second = a({ title: 'T2', period: { year: 2024 } }, { name: 'A1' })
    const [one, other] = await bothWays([a({ title: 'T3', period: { year: 2026 } }, { name: 'A3' })], first, second)
    expect(one).toEqual(other)
    expect(one).toMatchObject({
      companies: [{ name: 'A2' }],
      calculators: [{ title: 'T2', period_year: 2025, period_month: 5 }],
    })
    expect(one?.leftOut).toHaveLength(3)
  })

  it('takes from the second page what the first one does not have', async () => {
    const two = (over: object) => company('A', { calculators: [calculator('y'), x(over)] })
    const half = company('A', { calculators: [calculator('y')] })
    const [one, other] = await bothWays([two({ inputs: { e: '9' }, title: 'Z' })], half, a({ inputs: { e: '1' } }))
    expect(one).toEqual(other)
    expect(one).toMatchObject({ values: [{ variable_id: 'e', value: '1' }, {}], leftOut: [] })
  })

  it('takes from the second page what nobody could read on the first', async () => {
    const before = [a({ inputs: { e: '9' }, title: 'Z' }, { name: 'Z', fields: { brand: ['Z'] } })]
    const now = a({ inputs: { e: '1' } }, { fields: { brand: ['B'] } })
    for (const spoilt of [
      { ...now, calculators: null },
      { ...now, calculators: [{ ...x({}), period: null }], name: null, fields: null },
      a({ inputs: { e: null }, title: null }, { name: null, fields: { brand: [null] } }),
    ]) {
      const [one, other] = await bothWays(before, spoilt as never, now)
      for (const found of [one, other]) {
        expect(found).toMatchObject({
          companies: [{ name: 'A' }],
          properties: [{ value: 'B' }],
          calculators: [{ title: 'Carbon footprint' }],
          values: [{ variable_id: 'e', value: '1' }, {}],
        })
      }
    }
  })

  /** What comes of these pages in each order, after a night with `before`, of which each list is a page. */
  async function allWays(before: SampleCompany[][], pages: SampleCompany[]) {
    const found = []
    for (const order of ordersOf(pages.map((_, index) => index))) {
      await clear()
      await night(
        before.map((page, index) => (index === 0 ? [...page, ...others] : page)),
        before.map((_, index) => index),
      )
      await night([others, ...pages.map((page) => [page])], [0, ...order.map((index) => index + 1)])
      found.push(await known())
    }
    return found
  }
  const y = (...more: unknown[]) => company('A', { calculators: [calculator('y'), ...more] as never })
  const values = (value: string) => ({ values: [{ variable_id: 'e', value }, {}] })

  it('differs from no value of a night before, where its first page shows a calculator without an id', async () => {
    const nameless = { ...calculator('z'), id: null }
    for (const found of await allWays(
      [[y()], [a({ inputs: { e: '9' } })]],
      [y(nameless), a({ inputs: { e: '10' } })],
    )) {
      expect(found).toMatchObject({ ...values('10'), leftOut: [{ unit: 'calculator' }] })
    }
  })

  it('differs from nothing of a night before, where one of its three pages cannot be read', async () => {
    const before = [[y(x({ inputs: { e: '9' }, title: 'Z' }))], [{ ...y(), fields: { brand: ['Z'] } }]]
    const pages = [
      { ...a({}), calculators: null as never },
      y(),
      a({ inputs: { e: '10' } }, { fields: { brand: ['B'] } }),
    ]
    for (const found of await allWays(before, pages)) {
      expect(found).toMatchObject({ ...values('10'), calculators: [{ title: 'Carbon footprint' }, {}] })
      expect(found.properties).toMatchObject([{ value: 'B' }])
    }
  })

  it('loses a value that the one page with its calculator leaves out', async () => {
    const before = [[y()], [a({ inputs: { e: '1', only: '1' } })]]
    for (const found of await allWays(before, [y(), a({ inputs: { e: '1' } })])) {
      expect(found).toMatchObject({ ...values('1'), marks: [] })
      expect(found.values).toHaveLength(2)
    }
  })

  it('keeps, with a mark, a value that the one page with its calculator gives in a form that cannot be read', async () => {
    const before = [[y()], [a({ inputs: { e: '1' } })]]
    for (const found of await allWays(before, [y(), a({ inputs: { e: null } })])) {
      expect(found).toMatchObject({ ...values('1'), marks: [{ part: 'value' }] })
    }
  })

  const brand = (...names: string[]) => a({}, { fields: { brand: names } })

  it('can have back what it lost because another list is the greater', async () => {
    for (const found of await allWays([[brand('Z', 'Y', 'X')]], [brand('B'), brand('A', 'C', 'D')])) {
      expect(found.properties).toMatchObject([{ value: 'B' }])
      expect(await removedOrdinals()).toEqual([1, 2, 3])
    }
  })

  it.each([
    ['loses nothing where a value of one of them is another, and no fewer stand', [[brand('P')]], ['Z'], ''],
    ['keeps once what a shorter list loses', [[brand('P', 'Q')]], ['Z'], 'PQ'],
    ['loses nothing to a longer list', [[brand('P')]], ['Z', 'Y'], ''],
  ])('%s', async (_what, before, greater, lost) => {
    const stood = before[0]?.[0] as SampleCompany
    for (const pages of [
      [stood, brand(...greater)],
      [brand(...greater), stood],
    ]) {
      await clear()
      for (const page of before) await night([[...page, ...others]], [0])
      await night([others, ...pages.map((page) => [page])], [0, 1, 2])
      expect(await removedValues()).toBe(lost)
      expect((await known()).properties).toMatchObject(greater.map((value) => ({ value })))
    }
  })

  it.each([
    ['of the night before', [brand('P')], ['P', 'Z'], 'PQ'],
    ['that a page of the same search made shorter', [], ['P', 'Z'], 'PQ'],
    ['and becomes shorter again', [brand('P', 'Q')], ['P', 'Q', 'Z'], 'PQR'],
  ])('keeps a value once that is replaced in a list %s', async (_when, between, [...pages], lost) => {
    const whole = lost.split('')
    const greater = pages.pop() as string
    for (const order of [
      [1, 2],
      [2, 1],
    ]) {
      await clear()
      await night([[brand(...whole), ...others]], [0])
      for (const page of between) await night([[page, ...others]], [0])
      await night([others, [brand(...pages)], [brand(greater)]], [0, ...order])
      expect(await removedValues()).toBe(lost)
      expect(await db.transaction().execute((trx) => restoreRemoved(trx, {}))).toMatchObject({ properties: 0 })
    }
  })

  it.each(['B', 'C'])(
    'keeps an older list whole where the guard withholds it, and pages give C and %s',
    async (two) => {
      for (const order of [
        [0, 1],
        [1, 0],
      ]) {
        await clear()
        await night([[brand('Y', 'Z'), ...others]], [0])
        await night([[brand('C'), ...others], [brand(two)]], order, { minSeenShare: 0.9 })
        expect(await known()).toMatchObject({
          properties: [{ value: 'Y' }, { value: 'Z' }],
          marks: [{ part: 'property', reason: 'too_few_properties' }, {}],
          leftOut: [
            { item: 'brand', excerpt: `["${two}"]` },
            { item: 'brand', excerpt: '["C"]' },
          ],
        })
      }
    },
  )

  it.each([
    ['P', 'Z', 'QR'],
    ['PQ', 'Z', 'R'],
    ['PQ', 'A', 'R'],
    ['A', 'Z', 'PQR'],
  ])('keeps a list whole whose end was brought back, where pages give %s and %s', async (one, two, marked) => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      await clear()
      for (const list of ['PQR', 'PQ']) await night([[brand(...list.split('')), ...others]], [0])
      await db.transaction().execute((trx) => restoreRemoved(trx, {}))
      await night([[brand(...one.split('')), ...others], [brand(...two.split(''))]], order)
      expect((await known()).properties).toMatchObject([{ value: 'P' }, { value: 'Q' }, { value: 'R' }])
      const { rows } = await sql<{ value: string }>`
        select value from company_properties where not_renewed_since is not null order by ordinal`.execute(db)
      expect(rows.map(({ value }) => value).join('')).toBe(marked)
      expect(await removedValues()).toBe('')
    }
  })

  it('has the list that a page shows after one that could not be read', async () => {
    for (const found of await allWays([[brand('P', 'Q', 'R')]], [brand(null as never), brand('Z')])) {
      expect(found).toMatchObject({ properties: [{ value: 'Z' }], marks: [] })
      expect(await removedValues()).toBe('PQR')
    }
  })

  it('differs from no calculator of a type that its first page was not asked for', async () => {
    const other = { typeId: uuid('other') }
    const select = { calculatorTypeIds: [uuid('carbon')] }
    await night([[y(x({ ...other, inputs: { e: '9' } })), ...others], [company('A', { calculators: [] })]], [0, 1])
    await night([[y(), ...others], [a({ inputs: { e: '10' } })]], [0, 1], select)
    expect(await known()).toMatchObject({ ...values('10'), leftOut: [] })
  })

  it.each(['is new', 'is as it was', 'has changed'])(
    'leaves no mark on a calculator of a type that was not asked for and that a page has given, where the company %s',
    async (how) => {
      const select = { calculatorTypeIds: [uuid('other')] }
      if (how === 'is as it was') await night([[a({}), ...others]], [0], select)
      if (how === 'has changed') await night([[a({ title: 'Z' }), ...others]], [0], select)
      await night([[a({}), ...others], [a({ period: null })]], [0, 1], select)
      expect(await known()).toMatchObject({ marks: [], leftOut: [{ unit: 'calculator', item: 'period' }] })
    },
  )

  it('loses a calculator of a type that was not asked for to the company that a page shows with it', async () => {
    const select = { calculatorTypeIds: [uuid('carbon')] }
    const b = company('B', { calculators: [x({ inputs: { e: '10' } })] })
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      await clear()
      await night([[y(x({ typeId: uuid('other'), inputs: { e: '9' } })), company('B', { calculators: [] })]], [0])
      await night([[y(), ...others], [b]], order, select)
      expect(await known()).toMatchObject({ calculators: [{}], leftOut: [] })
      const { rows } = await sql`select company_id from calculators where calculator_id = ${uuid('x')}`.execute(db)
      expect(rows).toEqual([{ company_id: uuid('B') }])
    }
  })

  it('leaves out once what another company has and nobody can read here', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      await clear()
      await night([[a({}), ...others], [company('B', { calculators: [x({ period: null })] })]], order)
      expect((await known()).leftOut).toMatchObject([{ unit: 'calculator', item: 'period' }])
    }
  })

  it('does not keep the name that it had when it was removed', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      await clear()
      await night([[a({}, { name: 'Z' }), ...others]], [0])
      await night([others], [0])
      await night([[{ ...a({}), calculators: null as never }, ...others], [a({})]], order)
      expect(await known()).toMatchObject({ companies: [{ name: 'A', here: true }], leftOut: [{ unit: 'company' }] })
    }
  })

  it.each([
    ['the company', { ...a({}), calculators: null as never }],
    ['the calculator', a({ period: null })],
    ['the name and the title', a({ title: null, inputs: { e: '10' } }, { name: null as never })],
  ])(
    'comes to the same, with no mark, where a third page gives %s in a form that cannot be read',
    async (_of, spoilt) => {
      const pages = [
        y(x({ inputs: { e: '10' }, title: 'T1' })),
        spoilt,
        a({ inputs: { e: '9' }, title: 'T2' }, { name: 'A2' }),
      ]
      for (const found of await allWays([[y(x({ inputs: { e: '1' }, title: 'Z' }))]], pages)) {
        expect(found).toMatchObject(values('9'))
        expect(found).toMatchObject({ companies: [{ name: 'A2' }], marks: [] })
      }
    },
  )
})

/** In the order of the alphabet. */
async function removedValues(): Promise<string> {
  const removed = await db.selectFrom('removals').select('value').where('part', '=', 'property').execute()
  return removed
    .map(({ value }) => value)
    .sort()
    .join('')
}

async function removedOrdinals(): Promise<number[]> {
  const removed = await db
    .selectFrom('removals')
    .select('ordinal')
    .where('part', '=', 'property')
    .orderBy('ordinal')
    .execute()
  return removed.map(({ ordinal }) => Number(ordinal))
}
