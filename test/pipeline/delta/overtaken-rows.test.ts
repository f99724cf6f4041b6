import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { extractNow, type Streams } from './partner.ts'
import { type DialectPartner, hotelsQuery, partners, readingsQuery } from './partners.ts'

const hotels: Streams = { properties: { query: hotelsQuery, cursor: 'at' } }
const readings: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at' } }
const changesOnly: Streams = { properties: { query: hotelsQuery, cursor: 'at', fullEvery: 'never' } }

describe.each(partners)('rows without a cursor, dialect %#', (open) => {
  let ferry: Ferry
  let partner: DialectPartner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.clear()
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const at = (day: number | null) => (day === null ? 'null' : `'2026-01-0${day} 00:00:00'`)
  const hotel = (code: string, name: string, day: number | null) =>
    partner.run(`insert into hotel values ('${code}', '${name}', ${at(day)}, 1)`)
  const reading = (code: string, field: string, value: number | null, day: number | null) =>
    partner.run(`insert into reading values ('${code}', 2025, 1, '${field}', ${value ?? 'null'}, ${at(day)})`)
  const night = async (streams: Streams) => {
    const run = await extractNow(ferry, partner, streams)
    const { null_cursor, ...counts } = await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['read', 'folded', 'changed', 'unchanged', 'whole', 'null_cursor'])
      .where('run_id', '=', run)
      .executeTakeFirstOrThrow()
    const { read, folded, changed, unchanged } = counts
    expect(read).toBe(folded + changed + unchanged)
    return { changed, read, whole: counts.whole, null_cursor }
  }
  const contentOf = async (partnerId: string) => {
    const { content } = await ferry.ledger.db
      .selectFrom('ledger')
      .select('content')
      .where('partner_id', '=', partnerId)
      .executeTakeFirstOrThrow()
    return content as { name?: string; inputs?: Record<string, string | null> }
  }
  const inputs = async () => {
    const { inputs: said = {} } = await contentOf('H-1')
    return Object.fromEntries(Object.entries(said).map(([id, value]) => [id, value === null ? null : Number(value)]))
  }

  it.each([
    ['yields everything', hotels],
    ['yields changes alone', changesOnly],
  ])(
    'a row without a cursor never lands in place of a newer row of its key, where the query %s',
    async (_, streams) => {
      await hotel('H-1', 'old', null)
      await hotel('H-1', 'new', 2)
      await hotel('H-2', 'two', 3)
      await night(streams)
      expect(await contentOf('H-1')).toMatchObject({ name: 'new' })
      for (let nights = 0; nights < 2; nights += 1) {
        expect(await night(streams)).toMatchObject({ changed: 0, whole: null, null_cursor: 1 })
        expect(await contentOf('H-1')).toMatchObject({ name: 'new' })
      }
    },
  )

  it('a row without a cursor lands once the newer row of its key is gone', async () => {
    await hotel('H-1', 'old', null)
    await hotel('H-1', 'new', 2)
    await hotel('H-2', 'two', 3)
    await night(hotels)
    await partner.run(`delete from hotel where name = 'new'`)
    expect(await night(hotels)).toMatchObject({ changed: 1, whole: null })
    expect(await contentOf('H-1')).toMatchObject({ name: 'old' })
    expect(await night(hotels)).toMatchObject({ changed: 0, read: 2 })
  })

  it('a row without a cursor that is alone lands when it changed', async () => {
    await hotel('H-1', 'one', null)
    await hotel('H-2', 'two', 3)
    await night(hotels)
    await partner.run(`update hotel set name = 'changed' where code = 'H-1'`)
    expect(await night(hotels)).toMatchObject({ changed: 1, whole: null })
    expect(await contentOf('H-1')).toMatchObject({ name: 'changed' })
    expect(await night(hotels)).toMatchObject({ changed: 0, read: 2 })
  })

  it('a row without a cursor never lands in place of two newer rows that contradict each other', async () => {
    await hotel('H-1', 'old', null)
    await hotel('H-1', 'one', 2)
    await hotel('H-1', 'other', 2)
    await hotel('H-2', 'two', 3)
    await night(hotels)
    expect(await night(hotels)).toMatchObject({ changed: 0 })
    expect(await contentOf('H-1')).toMatchObject({ name: 'one' })
  })

  it('rows without a cursor that contradict each other as the night before are read once', async () => {
    await hotel('H-1', 'one', null)
    await hotel('H-1', 'other', null)
    await hotel('H-2', 'two', 3)
    await night(hotels)
    expect(await night(hotels)).toEqual({ changed: 0, read: 3, whole: null, null_cursor: 2 })
  })

  it.each([
    ['a value', 7],
    ['null', null],
  ])('an input without a cursor never lands in place of a newer one that is %s', async (_, newer) => {
    await reading('H-1', ids.field, 1, null)
    await reading('H-1', ids.otherField, 5, null)
    await reading('H-1', ids.field, newer, 2)
    await reading('H-2', ids.field, 9, 3)
    await night(readings)
    const first = await inputs()
    expect(first[ids.field] ?? null).toBe(newer)
    for (let nights = 0; nights < 2; nights += 1) {
      expect(await night(readings)).toMatchObject({ changed: 0, whole: null, null_cursor: 2 })
      expect(await inputs()).toEqual(first)
    }
  })

  it('an input without a cursor that is alone lands when it changed', async () => {
    await reading('H-1', ids.field, 1, null)
    await reading('H-1', ids.otherField, 5, 2)
    await reading('H-2', ids.field, 9, 3)
    await night(readings)
    await partner.run(`update reading set value = 2 where value = 1`)
    expect(await night(readings)).toMatchObject({ changed: 1, whole: null })
    expect(await inputs()).toEqual({ [ids.field]: 2, [ids.otherField]: 5 })
    expect(await night(readings)).toMatchObject({ changed: 0, read: 2 })
  })

  it('inputs without a cursor that contradict each other as the night before are read once', async () => {
    await reading('H-1', ids.field, 1, null)
    await reading('H-1', ids.field, 2, null)
    await reading('H-2', ids.field, 9, 3)
    await night(readings)
    expect(await night(readings)).toEqual({ changed: 0, read: 3, whole: null, null_cursor: 2 })
  })

  it('rows without a cursor that differ in more hotels than can be asked for have their stream read whole', async () => {
    const many = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001)'
    await partner.run(`${many} insert into hotel select 'M-' || i, 'old', null, 1 from n`)
    await partner.run(`${many} insert into hotel select 'M-' || i, 'new', ${at(2)}, 1 from n`)
    await hotel('H-2', 'two', 3)
    await night(hotels)
    expect(await night(hotels)).toMatchObject({ changed: 0, whole: 'partial' })
    expect(await contentOf('M-1')).toMatchObject({ name: 'new' })
  })
})
