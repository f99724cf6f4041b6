import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { ordersOf } from './orders.ts'
import { calculator, company, type SamplePage, samplePage, uuid } from './sample-page.ts'
import { bothWays, openNights } from './search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

const rooms = uuid('rooms')
const ROOMS = rooms.toUpperCase()

const hotel = (name: string, fields: Record<string, string[]>) => company(name, { fields, calculators: [] })
const properties = async () =>
  (await db.selectFrom('custom_property').select('property_id').orderBy('property_id').execute()).map(
    ({ property_id }) => property_id,
  )
const left = async () => (await sql`select item, reason from quarantine order by 2, 1`.execute(db)).rows
const values = async () =>
  ((await known()).properties as { property_id: string; value: string }[])
    .map(({ property_id, value }) => `${property_id} ${value}`)
    .sort()

/** A page of these companies that lists the property so. */
const page = (id: string, ...hotels: ReturnType<typeof hotel>[]): SamplePage => ({
  ...samplePage(hotels),
  customProperties: [{ id, name: 'Rooms' }],
})

describe.each(bothWays)('a property in another spelling, on a page loaded %s,', (way, how) => {
  it('changes the value that is known, and is that of companies that are new', async () => {
    await night([page(rooms, hotel('A', { [rooms]: ['12', 'x'] }), hotel('B', { [rooms]: ['3'] }))], how)
    const before = await known()
    await night([page(ROOMS, hotel('A', { [ROOMS]: ['12', 'x'] }), hotel('B', { [ROOMS]: ['3'] }))], how)
    expect(await known()).toEqual(before)
    const hotels = [hotel('A', { [ROOMS]: ['15'] }), hotel('B', { [ROOMS]: ['3'] }), hotel('C', { [ROOMS]: ['4'] })]
    const { finished, counts } = await night([page(ROOMS, ...hotels)], how)
    expect(finished).toMatchObject({ withheld: false })
    if (way === 'fast') expect(counts).toMatchObject([{ unchanged: 1, care: null }])
    expect(await values()).toEqual([`${rooms} 15`, `${rooms} 3`, `${rooms} 4`])
    expect(await properties()).toEqual([rooms])
    expect(await marks()).toEqual([])
    expect(await left()).toEqual([])
  })

  it('stands where the list spells it otherwise than the companies do, the first night and the next', async () => {
    for (const value of ['1', '2', '2']) {
      const { counts } = await night(
        [page(ROOMS, hotel('A', { [rooms]: [value] }), hotel('B', { [rooms]: ['3'] }))],
        how,
      )
      if (way === 'fast') expect(counts).toMatchObject([{ care: null }])
      expect((await values()).map((line) => line.slice(-1))).toEqual([value, '3'])
    }
    expect(await properties()).toHaveLength(1)
    expect(await marks()).toEqual([])
    expect(await left()).toEqual([])
  })

  it('makes one row with the other where a page brings both for the first time', async () => {
    await night([page(rooms, hotel('A', { [rooms]: ['1'] }), hotel('B', { [ROOMS]: ['2'] }))], how)
    expect(await properties()).toHaveLength(1)
    expect(await values()).toHaveLength(2)
  })

  it('takes the place of the value that an older page left under a row of its own', async () => {
    await night([page(rooms, hotel('A', { [rooms]: ['1'] }), hotel('B', { [rooms]: ['2'] }))], how)
    await sql`insert into custom_property (property_id, name) values (${ROOMS}, 'Rooms')`.execute(db)
    await sql`
      insert into company_property (company_key, property_key, ordinal, value)
      select company_key, (select property_key from custom_property where property_id = ${ROOMS}), 1, 'old'
      from company`.execute(db)
    await sql`update company set content_hash = null`.execute(db)
    for (const id of [ROOMS, rooms]) {
      await night([page(id, hotel('A', { [id]: ['1'] }), hotel('B', { [id]: ['2'] }))], how)
      expect(await values()).toEqual([`${id} 1`, `${id} 2`])
      expect(await marks()).toEqual([])
    }
    // What has only moved to the other row was not removed, and what was stays away while the other row has a value.
    const restored = () => db.transaction().execute((trx) => restoreRemoved(trx, {}))
    expect(await restored()).toMatchObject({ properties: 0 })
    await sql`
      insert into removed_property (company_key, property_key, ordinal, value, submission_id)
      select company_key, property_key, 1, 'old', 1 from company, custom_property where property_id = ${ROOMS}`.execute(
      db,
    )
    expect(await restored()).toMatchObject({ properties: 0 })
    await night([page(ROOMS, hotel('A', { [ROOMS]: [null as never] }), hotel('B', { [ROOMS]: ['2'] }))], how)
    expect(await values()).toEqual([`${ROOMS} 2`, `${rooms} 1`])
    expect(await marks()).toEqual([{ part: 'property', reason: 'no_text', withheld: false, parts: 1 }])
  })

  it.each([
    ['removes and keeps what it does not give', 0, [`${ROOMS} a`], [], ['b', 'c']],
    ['withholds all', 0.5, ['a', 'b', 'c'].map((value) => `${rooms} ${value}`), [3], []],
  ])('%s of a longer list under a row of its own', async (_what, minSeenShare, stands, marked, removed) => {
    const guard = { minSeenShare }
    await night([page(rooms, hotel('A', { [rooms]: ['a', 'b', 'c'] }))], how)
    await sql`insert into custom_property (property_id, name) values (${ROOMS}, 'Rooms')`.execute(db)
    await night([page(ROOMS, hotel('A', { [ROOMS]: ['a'] }))], { ...how, ...guard }, guard)
    expect(await values()).toEqual(stands)
    expect(await marks()).toEqual(
      marked.map((parts) => ({ part: 'property', reason: 'too_few_properties', withheld: true, parts })),
    )
    const { rows } = await sql<{ value: string }>`select value from removals order by ordinal`.execute(db)
    expect(rows.map(({ value }) => value)).toEqual(removed)
  })

  it('takes the place of what was brought back under a row of its own, and what it does not give is kept', async () => {
    const guard = { minSeenShare: 0 }
    for (const fields of [{ [rooms]: ['a', 'b'] }, {}]) {
      await night([page(rooms, hotel('A', fields as never))], { ...how, ...guard }, guard)
    }
    await db.transaction().execute((trx) => restoreRemoved(trx, {}))
    await sql`insert into custom_property (property_id, name) values (${ROOMS}, 'Rooms')`.execute(db)
    await night([page(ROOMS, hotel('A', { [ROOMS]: ['x'] }))], { ...how, ...guard }, guard)
    expect(await values()).toEqual([`${rooms} a`, `${rooms} b`])
    await night([page(ROOMS, hotel('A', { [ROOMS]: ['a', 'x'] }))], { ...how, ...guard }, guard)
    expect(await values()).toEqual([`${ROOMS} a`, `${ROOMS} x`])
    expect(await marks()).toEqual([])
    const { rows } = await sql<{ value: string }>`select value from removals`.execute(db)
    expect(rows.map(({ value }) => value)).toEqual(['b'])
  })

  it('leaves alone what was brought back of a company on two pages, whichever comes first', async () => {
    const guard = { minSeenShare: 0 }
    const half = (fields: Record<string, string[]>, k: string) =>
      page(ROOMS, company('A', { fields, calculators: [calculator(k)] }))
    const pages = [half({ [ROOMS]: ['x'] }, 'k1'), half({}, 'k2')]
    for (const order of ordersOf([0, 1])) {
      await clear()
      for (const fields of [{ [rooms]: ['a', 'b'] }, {}]) {
        await night([page(rooms, hotel('A', fields as never))], { ...how, ...guard }, guard)
      }
      await db.transaction().execute((trx) => restoreRemoved(trx, {}))
      await sql`insert into custom_property (property_id, name) values (${ROOMS}, 'Rooms')`.execute(db)
      await night(
        order.map((place) => pages[place]),
        { ...how, ...guard },
        guard,
      )
      expect(await values()).toEqual([`${rooms} a`, `${rooms} b`])
    }
  })

  it('stays out where its company gives the property twice, every night the same one', async () => {
    for (const value of ['1', '2']) {
      await night(
        [page(rooms, hotel('A', { [rooms]: [value, 'x'], [ROOMS]: ['5'] }), hotel('B', { [rooms]: ['3'] }))],
        how,
      )
      expect(await values()).toHaveLength(2)
      expect((await values()).map((line) => line.slice(-1)).sort()).toEqual(['3', '5'])
    }
    expect(await left()).toEqual(Array(4).fill({ item: rooms, reason: 'property_twice' }))
    expect(await marks()).toEqual([])
  })

  it('keeps the value that is known where it cannot be read', async () => {
    await night([page(rooms, hotel('A', { [rooms]: ['1'] }), hotel('B', { [rooms]: ['2'] }))], how)
    await night([page(ROOMS, hotel('A', { [ROOMS]: [null as never] }), hotel('B', { [ROOMS]: ['2'] }))], how)
    expect(await values()).toEqual([`${rooms} 1`, `${rooms} 2`])
    expect(await marks()).toEqual([{ part: 'property', reason: 'no_text', withheld: false, parts: 1 }])
  })

  it('contradicts nothing on two pages of one search that show a company', async () => {
    const pages = [page(rooms, hotel('A', { [rooms]: ['1'] })), page(ROOMS, hotel('A', { [ROOMS]: ['1'] }))]
    for (const _again of [1, 2]) await night(pages, how)
    expect(await values()).toEqual([`${rooms} 1`])
    expect(await marks()).toEqual([])
    expect(await left()).toEqual([])
  })

  it('names another property where it is no UUID', async () => {
    await night([samplePage([hotel('A', { rooms: ['1'], ROOMS: ['2'] })])], how)
    expect(await values()).toEqual(['ROOMS 2', 'rooms 1'])
  })
})
