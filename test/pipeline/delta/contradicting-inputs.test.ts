import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { preflightOf } from './framework.ts'
import { extractNow, type Streams } from './partner.ts'
import { type DialectPartner, partners, readingsQuery } from './partners.ts'

const byCursor: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at' } }
const changesOnly: Streams = { calculator_inputs: { query: readingsQuery, cursor: 'at', fullEvery: 'never' } }
const bySnapshot: Streams = { calculator_inputs: { query: readingsQuery, capture: 'snapshot' } }

const thirdField = '00000000-0000-4000-8000-0000000000aa'

type Said = { code?: string; field?: string; value: number | null; day?: number | null }

describe.each(partners)('rows of one calculator input, dialect %#', (open) => {
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

  const say = async (...all: Said[]) => {
    for (const { code = 'H-1', field = ids.field, value, day = 1 } of all) {
      const at = day === null ? 'null' : `'2026-01-0${day} 00:00:00'`
      await partner.run(`insert into reading values ('${code}', 2025, 1, '${field}', ${value ?? 'null'}, ${at})`)
    }
  }
  const night = async (streams: Streams) => {
    const run = await extractNow(ferry, partner, streams)
    await preflightOf(ferry, run)
    const { read, folded, changed, unchanged } = await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['read', 'folded', 'changed', 'unchanged'])
      .where('run_id', '=', run)
      .executeTakeFirstOrThrow()
    expect(read).toBe(folded + changed + unchanged)
    return { changed }
  }
  const row = async () => {
    const { content, contradiction, invalid_reason, desired_hash } = await ferry.ledger.db
      .selectFrom('ledger')
      .selectAll()
      .where('partner_id', '=', 'H-1')
      .executeTakeFirstOrThrow()
    expect(invalid_reason).toBe(contradiction)
    return { inputs: (content as { inputs: object }).inputs, invalid_reason, hash: desired_hash.toString('hex') }
  }
  const accept = () =>
    ferry.ledger.pool.query(`
      update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()
      where invalid_reason is null`)
  const valid = { invalid_reason: null }

  describe.each([
    ['with one cursor', byCursor],
    ['in one snapshot', bySnapshot],
  ])('%s', (_, streams) => {
    it('inputs that say different things make their calculator invalid, every night alike and in any order', async () => {
      await say({ value: 10 }, { value: 20 }, { field: ids.otherField, value: 5 })
      await night(streams)
      const first = await row()
      expect(first.invalid_reason).toMatch(new RegExp(`${ids.field}: "10(\\.0)?" and "20(\\.0)?"`))
      await partner.clear()
      await say({ field: ids.otherField, value: 5 }, { value: 20 }, { value: 10 })
      expect(await night(streams)).toEqual({ changed: 0 })
      expect(await row()).toEqual(first)
      // Other rows of the same moment between the two.
      await ferry.clear()
      await partner.clear()
      await say({ value: 20 }, { code: 'H-0', value: 1 }, { field: ids.otherField, value: 5 }, { value: 10 })
      await night(streams)
      expect(await row()).toEqual(first)
    })

    it('inputs that are there twice and agree are one', async () => {
      await say({ value: 10 }, { code: 'H-0', value: 1 }, { value: 10 })
      await night(streams)
      expect(await row()).toMatchObject(valid)
    })

    it('an input that is null in one row and not in the other makes its calculator invalid', async () => {
      await say({ value: 10 }, { value: null }, { field: ids.otherField, value: 5 })
      await night(streams)
      expect((await row()).invalid_reason).toMatch(/"10(\.0)?" and null/)
    })

    it('inputs that contradict each other a night later are invalid until the partner has one of them', async () => {
      await say({ value: 10 }, { field: ids.otherField, value: 5 })
      await night(streams)
      await accept()
      const before = await row()
      await say({ value: 20 })
      await night(streams)
      expect(await row()).toMatchObject({ invalid_reason: expect.stringContaining(ids.field) })
      // Another input that comes says nothing of the two.
      await say({ field: thirdField, value: 7, day: 2 })
      await night(streams)
      expect(await row()).toMatchObject({
        inputs: { [thirdField]: expect.anything() },
        invalid_reason: expect.stringContaining(ids.field),
      })
      await partner.run(`delete from reading where value in (7, 20)`)
      await night(streams)
      expect({ ...(await row()), inputs: {} }).toEqual({ ...before, inputs: {} })
    })
  })

  it.each([
    [null, 0],
    [0, null],
  ])(
    'inputs of a snapshot contradict each other the same night whichever came first: %s and then %s',
    async (one, other) => {
      await say({ value: one }, { field: ids.otherField, value: 1 }, { field: thirdField, value: 1 })
      await night(bySnapshot)
      expect(await row()).toMatchObject({ invalid_reason: null })
      await say({ value: other })
      expect(await night(bySnapshot)).toEqual({ changed: 1 })
      const { invalid_reason } = await row()
      expect(invalid_reason).toMatch(/several values/)
      await partner.run(`delete from reading where field = '${thirdField}'`)
      await night(bySnapshot)
      expect(await row()).toMatchObject({ invalid_reason })
    },
  )

  it('inputs that contradict each other are asked for once a night when another input comes', async () => {
    await say({ value: 10 }, { value: 20 }, { field: ids.otherField, value: 5 })
    await night(byCursor)
    await say({ field: thirdField, value: 7, day: 2 })
    await night(byCursor)
    const read = await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['read', 'hotels_asked', 'whole'])
      .orderBy('run_id', 'desc')
      .executeTakeFirstOrThrow()
    expect(read).toEqual({ read: 4, hotels_asked: 1, whole: null })
  })

  it('inputs that contradict each other in more hotels than can be asked for have no stream read whole', async () => {
    for (const value of [1, 2]) {
      await partner.run(`
        with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001)
        insert into reading select 'M-' || i, 2025, 1, '${ids.field}', ${value}, '2026-01-01 00:00:00' from n`)
    }
    await night(byCursor)
    expect(await night(byCursor)).toEqual({ changed: 0 })
    const read = ferry.ledger.db.selectFrom('run_stream').select(['read', 'whole']).orderBy('run_id', 'desc')
    expect(await read.executeTakeFirstOrThrow()).toEqual({ read: 10_002, whole: null })
    // One is put right and no cursor moves: its turn comes, also if it is the last.
    await say({ code: 'H-0', value: 1, day: 2 })
    await night(byCursor)
    const invalid = ferry.ledger.db.selectFrom('ledger').select('partner_id').where('contradiction', 'is not', null)
    const { partner_id } = await invalid.orderBy('partner_id', 'desc').limit(1).executeTakeFirstOrThrow()
    await partner.run(`delete from reading where code = '${partner_id}' and value = 2`)
    for (let nights = 0; nights < 3 && (await invalid.execute()).length > 5_000; nights += 1) await night(byCursor)
    expect(await invalid.where('partner_id', '=', partner_id).execute()).toEqual([])
  })

  it('inputs with different cursors do not contradict each other: the later one wins, wherever it comes', async () => {
    await say(
      { value: 10 },
      { value: 15, day: 2 },
      { field: ids.otherField, value: 1 },
      { code: 'H-0', value: 1, day: 2 },
    )
    await say({ field: ids.otherField, value: 2, day: 3 }, { value: 20, day: 3 })
    await night(byCursor)
    const first = await row()
    expect(first).toMatchObject(valid)
    expect(Object.values(first.inputs).map(Number)).toEqual([20, 2])
    await ferry.ledger.pool.query(`update stream_reading set whole_wanted = 'reread'`)
    expect(await night(byCursor)).toEqual({ changed: 0 })
  })

  it('inputs of which one has the cursor of another part contradict each other by their own cursors alone', async () => {
    // Parts of one row with two cursors; the second of them is that of a row that comes apart from it.
    await say({ value: 10, day: 1 }, { field: ids.otherField, value: 1, day: 2 })
    await say({ code: 'H-0', value: 1, day: 2 }, { value: 20, day: 2 })
    await night(byCursor)
    expect(await row()).toMatchObject(valid)
    await ferry.clear()
    await say({ field: ids.otherField, value: 2, day: 2 })
    await night(byCursor)
    expect((await row()).invalid_reason).toMatch(new RegExp(`${ids.otherField}: "1(\\.0)?" and "2(\\.0)?"`))
  })

  it.each([
    ['read from the watermark', async () => {}],
    ['read whole', () => ferry.ledger.pool.query(`update stream_reading set whole_wanted = 'reread'`)],
  ])('inputs of changes alone contradict each other until they are said again, %s', async (_, prepare) => {
    await say({ value: 10 }, { value: 20 }, { field: ids.otherField, value: 1 }, { field: ids.otherField, value: 2 })
    await night(changesOnly)
    const first = await row()
    await partner.clear()
    await prepare()
    await say({ field: thirdField, value: 7, day: 2 })
    await night(changesOnly)
    const second = await row()
    expect(second).toMatchObject({
      inputs: { ...first.inputs, [thirdField]: expect.anything() },
      invalid_reason: first.invalid_reason,
    })
    await prepare()
    expect(await night(changesOnly)).toEqual({ changed: 0 })
    await partner.clear()
    await say({ field: ids.otherField, value: 3, day: 3 })
    await prepare()
    await night(changesOnly)
    const third = await row()
    expect(third.invalid_reason).toContain(ids.field)
    expect(third.invalid_reason).not.toContain(ids.otherField)
    await say({ field: ids.otherField, value: 4, day: 3 })
    await prepare()
    await night(changesOnly)
    const { invalid_reason: both } = await row()
    expect(both).toContain(ids.field)
    expect(both).toMatch(new RegExp(`${ids.otherField}: "3(\\.0)?" and "4(\\.0)?"`))
    await partner.clear()
    await say({ field: ids.otherField, value: 4, day: 4 }, { field: ids.field.toUpperCase(), value: 20, day: 4 })
    await prepare()
    await night(changesOnly)
    expect(await row()).toMatchObject(valid)
  })

  it('inputs without a cursor contradict each other', async () => {
    await say({ value: 10, day: null }, { value: 20, day: null }, { code: 'H-0', value: 1 })
    await night(byCursor)
    expect((await row()).invalid_reason).toContain(ids.field)
  })
})
