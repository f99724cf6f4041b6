import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { acceptRemovals } from '../../../src/pipeline/pull/removals/take-removals.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { ordersOf } from './orders.ts'
import { bodyOf, calculator, company, samplePage } from './sample-page.ts'
import { searchDatabase } from './search-database.ts'

const database = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())
const clear = () => emptyTables(db, [...pulledTables, 'page_listing'], true)
beforeEach(clear)

const half = (name: string, over: object = {}) => company('A', { calculators: [calculator(name)], ...over })
const brand = (...values: unknown[]) => half('k1', { fields: { brand: values } })
const without = half('k2')
const third = half('k3')
const unreadable = { ...half('k2'), calculators: null }
const others = Array.from({ length: 3 }, (_, index) => company(`hotel ${index}`, { fields: { rooms: [`${index}`] } }))
const names = ['brand', 'rooms'].map((id) => ({ id, name: id }))

type How = {
  share?: number
  endShare?: number
  missing?: boolean
  listed?: typeof names
  withOthers?: number
  hotels?: typeof others
}

/** A search of these listings of A, each on a page of its own, loaded in this order; of null the page does not come. */
async function night(
  listings: unknown[],
  order = listings.map((_, index) => index),
  { share = 0, endShare = 0, missing = false, listed = names, withOthers = 0, hotels = others }: How = {},
) {
  const pages = await database.search(listings.length + (missing ? 1 : 0))
  for (const index of order) {
    const page = pages[index]
    if (page === undefined) continue
    const shown = [listings[index], ...(index === withOthers ? hotels : [])] as typeof others
    const body = { ...samplePage([half('k1')]), customProperties: listed, companies: shown }
    await database.load(page, bodyOf(body), { minSeenShare: share })
  }
  return await database.finish(pages[0]?.submission_id ?? 0, { minSeenShare: endShare })
}

const texts = async (query: ReturnType<typeof sql>) =>
  (await sql<{ text: string }>`select text from (${query}) found`.execute(db)).rows.map(({ text }) => text)
const brands = async () =>
  (await texts(sql`select value as text from company_properties where property_id = 'brand' order by ordinal`)).join('')
const marks = () => texts(sql`select part || ' ' || reason as text from not_renewed order by 1`)
const removed = async () => (await texts(sql`select value as text from removals order by ordinal`)).join('')
const changedAt = () => texts(sql`select changed_at::text as text from companies order by company_id`)

/** What decides is which of the pages comes before that with the values. */
const orders = [
  [0, 1, 2],
  [1, 0, 2],
  [2, 1, 0],
]

/** A stands on several pages, and has done so for two nights. */
async function knownOnMany(listings: unknown[], how: How = {}) {
  await clear()
  for (let count = 0; count < 2; count++) await night(listings, undefined, how)
}

describe('the custom property values of a company on several pages', () => {
  it('stay, with a mark, where the page that holds them does not come', async () => {
    await knownOnMany([brand('Z'), without])
    for (let count = 0; count < 2; count++) {
      expect(await night([without], [0], { missing: true })).toMatchObject({ reason: 'pages_not_loaded' })
      expect(await brands()).toBe('Z')
      expect(await marks()).toContain('property on_many_pages')
      expect(await removed()).toBe('')
    }
    await night([brand('Z'), without])
    expect(await marks()).toEqual([])
  })

  it('stand unchanged in whatever order the pages are loaded', async () => {
    await knownOnMany([brand('Z', 'Y'), without, third])
    const before = await changedAt()
    for (const order of orders) {
      await night([brand('Z', 'Y'), without, third], order)
      expect([await brands(), await marks(), await removed()]).toEqual(['ZY', [], ''])
    }
    expect(await changedAt()).toEqual(before)
  })

  it('go where no page of a complete search gives them, and can be brought back', async () => {
    for (const order of orders) {
      await knownOnMany([brand('Z', 'Y'), without, third])
      const before = await changedAt()
      await night([half('k1'), without, third], order)
      expect([await brands(), await marks(), await removed()]).toEqual(['', [], 'ZY'])
      expect(await changedAt()).not.toEqual(before)
    }
  })

  it.each([
    ['shorter one', ['Z'], 'Y'],
    ['other one', ['X'], 'ZY'],
    ['one of the same length', ['X', 'Y'], ''],
  ])('become the %s that the page with them gives', async (_which, given, lost) => {
    for (const order of orders) {
      await knownOnMany([brand('Z', 'Y'), without, third])
      await night([brand(...given), without, third], order)
      expect([await brands(), await marks(), await removed()]).toEqual([given.join(''), [], lost])
    }
  })

  it.each([
    ['gives them in a form that cannot be read', brand(null), ['property no_text', 'property no_text']],
    ['gives no fields that can be read', half('k1', { fields: null }), ['property no_object', 'property no_object']],
  ])('stay where a page %s', async (_how, spoilt, marked) => {
    for (const order of orders) {
      await knownOnMany([brand('Z', 'Y'), without, third])
      await night([spoilt, without, third], order)
      expect([await brands(), await marks(), await removed()]).toEqual(['ZY', marked, ''])
    }
  })

  it.each([
    ['gives them in a form that cannot be read', brand(null), 'property no_text'],
    ['gives half of them in a form that cannot be read', brand('X', null), 'property no_text'],
    ['gives no fields that can be read', half('k1', { fields: null }), 'property no_object'],
  ])('stay on the first night on several pages, where one %s', async (_how, spoilt, mark) => {
    for (const order of ordersOf([0, 1])) {
      await knownOnMany([brand('Z', 'Y')])
      await night([without, spoilt], order)
      expect([await brands(), await marks(), await removed()]).toEqual(['ZY', [mark, mark], ''])
    }
  })

  it('come back, and are not removed, on the first night on several pages, where another gives them', async () => {
    for (const order of ordersOf([0, 1])) {
      for (const given of ['ZY', 'Z', 'X', '']) {
        await knownOnMany([brand('Z', 'Y')])
        await night([without, given === '' ? half('k1') : brand(...given.split(''))], order)
        const lost = ['Z', 'Y'].filter((value) => !given.includes(value)).join('')
        expect([await brands(), await marks(), await removed()]).toEqual([given, [], lost])
      }
    }
  })

  it('stay where a page shows the company in a form that cannot be read', async () => {
    const [one, two] = [[brand('Z', 'Y')], [brand('Z', 'Y'), without]]
    for (const { before, order } of [
      { before: two, order: [0, 1] },
      { before: two, order: [1, 0] },
      { before: one, order: [0, 1] },
      { before: one, order: [1, 0] },
    ]) {
      await knownOnMany(before)
      await night([half('k1'), unreadable], order)
      expect([await brands(), await removed()]).toEqual(['ZY', ''])
      expect((await marks()).filter((mark) => mark === 'property no_array')).toHaveLength(2)
    }
  })

  it('go although the last page of the company holds nothing that others have', async () => {
    for (const order of ordersOf([0, 1])) {
      await knownOnMany([brand('Z', 'Y'), without])
      await night([half('k1'), without], order, { share: 0.5, endShare: 0.5 })
      expect([await brands(), await marks(), await removed()]).toEqual(['', [], 'ZY'])
    }
  })

  it('become shorter where the page with them shows enough, whichever comes first', async () => {
    const fields = (...values: string[]) => half('k1', { fields: { rooms: ['1'], brand: values } })
    for (const order of ordersOf([0, 1])) {
      await knownOnMany([fields('a', 'b', 'c'), without], { withOthers: 1 })
      await night([fields('a'), without], order, { share: 0.5, endShare: 0.5, withOthers: 1 })
      expect([await brands(), await marks(), await removed()]).toEqual(['a', [], 'bc'])
    }
  })

  it('stay withheld where too much would go with them at the end, until a person accepts that', async () => {
    for (const order of ordersOf([0, 1])) {
      await knownOnMany([brand('Z', 'Y'), without])
      const ended = await night([half('k1'), without], order, { share: 0.9, endShare: 0.9 })
      expect(ended).toMatchObject({ withheld: true, reason: 'too_few_properties' })
      expect([await brands(), await marks(), await removed()]).toEqual([
        'ZY',
        ['property too_few_properties', 'property too_few_properties'],
        '',
      ])
      await db.transaction().execute((trx) => acceptRemovals(trx, {}))
      expect([await brands(), await marks(), await removed()]).toEqual(['', [], 'ZY'])
    }
  })

  it('stay withheld where a page that gives none shows too few of those of others, whichever comes first', async () => {
    const bare = Array.from({ length: 3 }, (_, index) => company(`hotel ${index}`))
    for (const order of ordersOf([0, 1])) {
      await knownOnMany([brand('Z', 'Y'), without])
      await night([half('k1'), without], order, { share: 0.5, hotels: bare })
      expect([await brands(), new Set(await marks())]).toEqual(['ZY', new Set(['property too_few_properties'])])
    }
  })

  it('stay where a page does not list the property, whichever comes first', async () => {
    await knownOnMany([brand('Z'), without])
    await night([half('k1'), without], [1, 0], { listed: names.filter(({ id }) => id !== 'brand') })
    expect([await brands(), await marks()]).toEqual(['Z', ['property property_left_out']])
  })
})
