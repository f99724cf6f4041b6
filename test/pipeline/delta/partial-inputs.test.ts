import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { ids } from '../push/rows.ts'
import { preflightOf } from './framework.ts'
import { extractNow, type Streams } from './partner.ts'
import { type DialectPartner, partners } from './partners.ts'

/** Readings of hotels that are active, whenever that was changed. */
const activeQuery = `
  select reading.code as partner_id, year, month, field as field_type_id, value, reading.at
  from reading join hotel on hotel.code = reading.code where hotel.number = 1`

const streams: Streams = { calculator_inputs: { query: activeQuery, cursor: 'at' } }
const changesOnly: Streams = { calculator_inputs: { query: activeQuery, cursor: 'at', fullEvery: 'never' } }

describe.each(partners)('a calculator of which a delta brings a part, dialect %#', (open) => {
  let ferry: Ferry
  let partner: DialectPartner
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.clear()
    await partner.run(`insert into hotel values ('H-1', 'one', null, 1), ('H-2', 'two', null, 1)`)
    await reading('H-1', ids.field, 1, 1)
    await reading('H-1', ids.otherField, 2, 1)
    await reading('H-2', ids.field, 9, 2)
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const reading = (code: string, field: string, value: number, day: number) =>
    partner.run(`insert into reading values ('${code}', 2025, 1, '${field}', ${value}, '2026-01-0${day} 00:00:00')`)
  const edit = (field: string, value: number, day: number) =>
    partner.run(
      `update reading set value = ${value}, at = '2026-01-0${day} 00:00:00' where code = 'H-1' and field = '${field}'`,
    )
  const activate = (active: 0 | 1) => partner.run(`update hotel set number = ${active} where code = 'H-1'`)
  const night = async (asked = streams) => {
    const run = await extractNow(ferry, partner, asked)
    await preflightOf(ferry, run)
    await ferry.ledger.pool.query('update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp()')
    return await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['read', 'folded', 'unchanged', 'changed', 'gone', 'returned', 'whole', 'watermark_after'])
      .where('run_id', '=', run)
      .executeTakeFirstOrThrow()
  }
  const aWeekLater = () => ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
  const inputs = async () => {
    const { content, gone_at } = await ferry.ledger.db
      .selectFrom('ledger')
      .select(['content', 'gone_at'])
      .where('partner_id', '=', 'H-1')
      .executeTakeFirstOrThrow()
    if (gone_at !== null) return 'gone'
    const { inputs: said } = content as { inputs: Record<string, string | null> }
    return Object.fromEntries(Object.entries(said).map(([id, value]) => [id, value === null ? null : Number(value)]))
  }
  const leave = async () => {
    await night()
    await activate(0)
    await aWeekLater()
    expect(await night()).toMatchObject({ whole: 'due', gone: 1 })
    expect(await inputs()).toBe('gone')
  }

  it('a calculator that returns with one input keeps the others that the partner still has', async () => {
    await leave()
    await activate(1)
    await edit(ids.field, 3, 3)
    const { read, folded, unchanged, changed, ...rest } = await night()
    expect(rest).toMatchObject({ whole: null, returned: 1, watermark_after: expect.stringMatching(/^2026-01-03/) })
    expect(read).toBe(folded + unchanged + changed)
    expect(await inputs()).toEqual({ [ids.field]: 3, [ids.otherField]: 2 })
    // The next night reads from where this one ended.
    expect(await night()).toMatchObject({ whole: null, changed: 0 })
  })

  it('a calculator that returns loses the input that the partner has no longer', async () => {
    await leave()
    await activate(1)
    await partner.run(`delete from reading where code = 'H-1' and field = '${ids.otherField}'`)
    await edit(ids.field, 3, 3)
    await night()
    expect(await inputs()).toEqual({ [ids.field]: 3, [ids.otherField]: null })
  })

  it('a calculator that returns where only changes are yielded takes no input back', async () => {
    await leave()
    await activate(1)
    await partner.run(`delete from reading where code = 'H-1' and field = '${ids.otherField}'`)
    await edit(ids.field, 3, 3)
    await night(changesOnly)
    expect(await inputs()).toEqual({ [ids.field]: 3, [ids.otherField]: 2 })
  })
  it('calculators that return with more hotels than can be asked for are read whole', async () => {
    const hotels = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 5001)'
    await partner.run(`${hotels} insert into hotel select 'M-' || i, 'many', null, 1 from n`)
    for (const field of [ids.field, ids.otherField]) {
      await partner.run(
        `${hotels} insert into reading select 'M-' || i, 2025, 1, '${field}', 1, '2026-01-01 00:00:00' from n`,
      )
    }
    await night()
    await ferry.ledger.pool.query(`update source_row set gone_at = now() where partner_id like 'M-%'`)
    await partner.run(`update reading set at = '2026-01-03 00:00:00' where code like 'M-%' and field = '${ids.field}'`)
    expect(await night()).toMatchObject({ whole: 'partial', gone: 0, returned: 5_001, changed: 0 })
  })
})
