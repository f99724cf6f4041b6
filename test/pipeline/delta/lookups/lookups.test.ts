import { rmSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StreamConfig } from '../../../../src/config/schema.ts'
import { rereadStream } from '../../../../src/pipeline/actions/act-on-rows.ts'
import { temporaryFile } from '../../../config/temporary-file.ts'
import { type Ferry, openFerry } from '../../push/ferry.ts'
import { ids } from '../../push/rows.ts'
import { preflightOf } from '../framework.ts'
import { extractNow } from '../partner.ts'
import { type DialectPartner, hotelsQuery, partners, readingsQuery } from '../partners.ts'

type Codes = Readonly<Record<string, string>>

const csv = (codes: Codes) =>
  `code,id\n${Object.entries(codes)
    .map((entry) => `${entry.join(',')}\n`)
    .join('')}`
const known: Codes = { power: ids.field, water: ids.otherField }

describe.each(partners)('codes of a partner, dialect %#', (open) => {
  let ferry: Ferry
  let partner: DialectPartner
  let file: string
  beforeAll(async () => {
    ferry = await openFerry()
    partner = await open()
  })
  beforeEach(async () => {
    await ferry.clear()
    await partner.clear()
    file = temporaryFile(csv(known), 'meters.csv')
    await reading('H-1', 'power', 10, 1)
    await reading('H-1', 'water', 20, 1)
    await reading('H-2', 'power', 30, 2)
  })
  afterAll(async () => {
    await partner.close()
    await ferry.close()
  })

  const reading = (code: string, field: string | null, value: number, day: number) =>
    partner.run(
      `insert into reading values ('${code}', 2025, 1, ${field === null ? 'null' : partner.literal(field)}, ${value}, '2026-01-0${day} 00:00:00')`,
    )
  const extractWith = async (stream: Partial<StreamConfig>) =>
    await extractNow(
      ferry,
      partner,
      { calculator_inputs: { query: readingsQuery, lookups: { field_type_id: 'meters' }, ...stream } },
      {},
      undefined,
      {},
      { meters: { file } },
    )
  const nightWith = async (stream: Partial<StreamConfig>) => {
    const run = await extractWith(stream)
    await preflightOf(ferry, run)
    await ferry.ledger.pool.query(
      `update acceptance set accepted_hash = wanted_hash, accepted_at = clock_timestamp() where invalid_reason is null`,
    )
    return await ferry.ledger.db
      .selectFrom('run_stream')
      .select(['read', 'changed', 'gone', 'whole', 'whole_detail'])
      .where('run_id', '=', run)
      .executeTakeFirstOrThrow()
  }
  const rows = async () => {
    const { rows: found } = await ferry.ledger.pool.query<{
      partner_id: string
      content: { inputs?: Record<string, string> }
      gone: boolean
      invalid_reason: string | null
    }>(`select partner_id, content, gone_at is not null as gone, invalid_reason from ledger order by row_key`)
    return found
  }
  const there = async () => (await rows()).filter(({ gone }) => !gone)
  const inputsOf = async (hotel: string) =>
    (await there()).filter(({ partner_id }) => partner_id === hotel).map(({ content }) => content.inputs)

  const captures: [string, Partial<StreamConfig>][] = [
    ['by cursor', { cursor: 'at' }],
    ['by snapshot', { capture: 'snapshot' }],
  ]
  describe.each(captures)('read %s', (_, how) => {
    const night = () => nightWith(how)
    const wholeNight = async () => {
      await ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
      return await night()
    }

    it('codes become ids before rows get their keys, so that inputs of one period are one row', async () => {
      expect(await night()).toMatchObject({ read: 3, changed: 2 })
      expect(await inputsOf('H-1')).toEqual([{ [ids.field]: '10', [ids.otherField]: '20' }].map(stringsLike))
      expect((await rows()).map(({ invalid_reason }) => invalid_reason)).toEqual([null, null])
      expect(await night()).toMatchObject({ changed: 0, whole: null })
    })

    it('codes that the lookup does not know make a row of their own invalid, with value, lookup and file, and keep no other from being sent', async () => {
      await reading('H-1', 'steam', 40, 1)
      await night()
      const invalid = (await there()).filter(({ invalid_reason }) => invalid_reason !== null)
      expect(invalid.map(({ partner_id, invalid_reason }) => [partner_id, invalid_reason])).toEqual([
        ['H-1', "field_type_id 'steam' is not in the lookup meters (meters.csv)"],
      ])
      expect(await there()).toHaveLength(3)
      expect(await night()).toMatchObject({ changed: 0 })
    })

    it('codes with tabulators, line ends and backslashes are looked up as they are, and an id of the service is a code like any other', async () => {
      const odd = 'a\tb\\c\nd'
      writeFileSync(file, csv({ ...known, [`"${odd}"`]: ids.framework }))
      await reading('H-3', odd, 50, 3)
      await reading('H-4', ids.field, 60, 3)
      await night()
      expect(await inputsOf('H-3')).toEqual([{ [ids.framework]: '50' }].map(stringsLike))
      expect((await there()).find(({ partner_id }) => partner_id === 'H-4')?.invalid_reason).toContain(
        `'${ids.field}' is not in the lookup meters`,
      )
    })

    it('codes that are null stay null', async () => {
      await reading('H-5', null, 1, 3)
      await night()
      const [row] = (await there()).filter(({ partner_id }) => partner_id === 'H-5')
      expect(row?.invalid_reason).toBe("field_type_id '' is no id")
    })

    it('codes are all read again once the lookup knows one more, and the row that was invalid joins its period', async () => {
      await reading('H-1', 'steam', 40, 1)
      await night()
      writeFileSync(file, csv({ ...known, steam: ids.framework }))
      expect(await night()).toMatchObject({
        read: 4,
        whole: 'lookup',
        whole_detail: 'meters (meters.csv) of field_type_id was changed: it had 2 codes and has 3',
      })
      expect(await inputsOf('H-1')).toEqual(
        [{ [ids.field]: '10', [ids.otherField]: '20', [ids.framework]: '40' }].map(stringsLike),
      )
      expect(await night()).toMatchObject({ whole: null, changed: 0 })
    })

    it('codes that stand for another id now take the old one back, as a query would that says so', async () => {
      await night()
      writeFileSync(file, csv({ ...known, water: ids.framework }))
      expect(await night()).toMatchObject({ whole: 'lookup', changed: 1, gone: 0 })
      expect(await inputsOf('H-1')).toEqual(
        [{ [ids.field]: '10', [ids.framework]: '20', [ids.otherField]: null }].map(stringsLike),
      )
    })

    it('codes that the lookup does not know any more take nothing back in their period, until they are known or gone', async () => {
      const period = async () =>
        (await there()).find(({ content }) => ids.field in (content.inputs ?? {}))?.content.inputs
      const unnamed = async () => (await there()).filter(({ invalid_reason }) => invalid_reason !== null).length
      await partner.run(`delete from reading where code = 'H-2'`)
      await reading('H-1', 'gas', 30, 1)
      const all: Codes = { ...known, gas: ids.framework }
      writeFileSync(file, csv(all))
      await wholeNight()
      const said = { [ids.field]: '10', [ids.otherField]: '20', [ids.framework]: '30' }
      expect(await period()).toEqual(stringsLike(said))
      const fewer: Codes = { power: ids.field }
      writeFileSync(file, csv(fewer))
      await wholeNight()
      expect([await period(), await unnamed()]).toEqual([stringsLike(said), 2])
      // Also where another input of the period changes, and the row of the unknown code does not.
      await partner.run(`update reading set value = 11, at = '2026-01-03 00:00:00' where field = 'power'`)
      await wholeNight()
      const changed = { ...said, [ids.field]: '11' }
      expect([await period(), await unnamed()]).toEqual([stringsLike(changed), 2])
      writeFileSync(file, csv(all))
      await wholeNight()
      expect([await period(), await unnamed()]).toEqual([stringsLike(changed), 0])
      await partner.run(`update reading set value = 12, at = '2026-01-04 00:00:00' where field = 'power'`)
      await wholeNight()
      expect(await period()).toEqual(stringsLike({ ...said, [ids.field]: '12' }))
      writeFileSync(file, csv(fewer))
      await wholeNight()
      await partner.run(`delete from reading where field <> 'power'`)
      await wholeNight()
      expect([await period(), await unnamed()]).toEqual([
        stringsLike({ [ids.field]: '12', [ids.otherField]: null, [ids.framework]: null }),
        0,
      ])
    })

    it('codes that are unknown in all of a period leave what was said of it as it was once one is known again', async () => {
      await wholeNight()
      writeFileSync(file, csv({ steam: ids.framework }))
      await wholeNight()
      expect((await there()).every(({ invalid_reason }) => invalid_reason !== null)).toBe(true)
      writeFileSync(file, csv({ power: ids.field }))
      await wholeNight()
      expect((await inputsOf('H-1')).filter((inputs) => ids.field in (inputs ?? {}))).toEqual([
        stringsLike({ [ids.field]: '10', [ids.otherField]: '20' }),
      ])
    })

    it('codes are read as ids, and whole, once the stream looks nothing up any more', async () => {
      await night()
      expect(await nightWith({ ...how, lookups: {} })).toMatchObject({
        whole: 'lookup',
        whole_detail: 'field_type_id is no longer looked up in meters (meters.csv)',
      })
      expect((await there()).every(({ invalid_reason }) => invalid_reason?.endsWith('is no id'))).toBe(true)
    })

    it('codes stop the run before anything is read while the file is missing or broken, and nothing is gone', async () => {
      await night()
      const before = await rows()
      await partner.run('delete from reading')
      rmSync(file)
      await expect(night()).rejects.toMatchObject({ code: 'lookup_unusable' })
      writeFileSync(file, 'code,id\npower')
      await expect(night()).rejects.toMatchObject({ code: 'lookup_unusable' })
      writeFileSync(file, csv({}))
      await expect(night()).rejects.toMatchObject({ code: 'lookup_unusable' })
      expect(await rows()).toEqual(before)
    })

    it('codes of hotels are looked up too, and what is read of one hotel is asked for by them', async () => {
      writeFileSync(file, csv({ 'H-1': 'one', 'H-2': 'two' }))
      const lookups = { partner_id: 'meters' }
      const stream = { ...how, lookups, query: readingsQuery.replace('field as', `'${ids.field}' as`) }
      await partner.run(`delete from reading where field = 'water'`)
      await nightWith(stream)
      expect((await there()).map(({ partner_id }) => partner_id)).toEqual(['one', 'two'])
      // It is gone, and comes back with one input of two: a delta asks for all of them by the hotel.
      await partner.run(`delete from reading where code = 'H-1'`)
      await ferry.ledger.pool.query(`update stream_reading set whole_at = whole_at - interval '7 days'`)
      expect(await nightWith(stream)).toMatchObject({ gone: 1 })
      await partner.run(`insert into reading values ('H-1', 2025, 1, 'power', 11, '2026-01-04 00:00:00')`)
      await nightWith(stream)
      expect(await inputsOf('one')).toEqual([{ [ids.field]: '11' }].map(stringsLike))
    })
  })

  it('codes of a query that yields only what changed lately leave the rows that it does not yield as they were', async () => {
    const stream = { cursor: 'at', fullEvery: 'never', query: readingsQuery }
    await nightWith(stream)
    writeFileSync(file, csv({ ...known, power: ids.framework }))
    expect(await nightWith({ ...stream, query: readingsQuery })).toMatchObject({ whole: 'lookup', gone: 0 })
  })

  it('codes that nobody knew leave no row behind when a person wants such a stream reread and they are known or gone', async () => {
    const stream = { cursor: 'at', fullEvery: 'never' }
    const unnamed = async () => (await there()).filter(({ invalid_reason }) => invalid_reason !== null)
    await reading('H-1', 'steam', 40, 1)
    await nightWith(stream)
    writeFileSync(file, csv({ ...known, steam: ids.framework }))
    expect(await nightWith(stream)).toMatchObject({ whole: 'lookup', gone: 0 })
    expect(await unnamed()).toHaveLength(1)
    const whole = await there()
    await partner.run(`delete from reading where code = 'H-2'`)
    await rereadStream(ferry.ledger.db, {
      stream: 'calculator_inputs',
      since: null,
      now: new Date(),
      actor: { user: 'test', host: 'here' },
    })
    expect(await nightWith(stream)).toMatchObject({ whole: 'reread', gone: 1 })
    expect(await there()).toEqual(whole.filter(({ invalid_reason }) => invalid_reason === null))
  })

  it('codes of a hotel that is named by a code nobody knows do not get lost', async () => {
    writeFileSync(file, csv({ 'H-1': 'one' }))
    await partner.run(`insert into hotel values ('H-1', 'one', '2026-01-01 00:00:00', 1), ('H-9', 'nine', null, 1)`)
    const run = await extractNow(
      ferry,
      partner,
      { properties: { query: hotelsQuery, lookups: { partner_id: 'hotels' } } },
      {},
      undefined,
      {},
      { hotels: { file } },
    )
    await preflightOf(ferry, run)
    expect((await there()).map(({ invalid_reason }) => invalid_reason)).toEqual([
      "partner_id 'H-9' is not in the lookup hotels (meters.csv)",
      null,
    ])
  })
})

/** SQLite prints a real as 10.0, PostgreSQL a numeric as 10. */
function stringsLike(inputs: Readonly<Record<string, string | null>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(inputs).map(([id, value]) => [
      id,
      value === null ? null : (expect.stringMatching(new RegExp(`^${value}(\\.0)?$`)) as unknown),
    ]),
  )
}
