import pg from 'pg'
import { beforeEach, describe, expect, it } from 'vitest'
import { maxPartnerIdLength } from '../../../src/pipeline/streams/rules/row-content.ts'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { some } from '../../helpers/some.ts'
import { testPool } from '../../helpers/test-pool.ts'
import { openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, propertiesQuery, settingsQuery } from './partner.ts'

const ferry = await ofThisFile(openFerry())
const partner = await ofThisFile(openPartner())
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query('truncate hotel')
})

const hotel = (code: string, cursors: { at?: string; number?: string; day?: string; local?: string; name?: string }) =>
  partner.pool.query('insert into hotel (code, name, at, number, day, local) values ($1, $2, $3, $4, $5, $6)', [
    code,
    cursors.name ?? code,
    cursors.at,
    cursors.number,
    cursors.day,
    cursors.local,
  ])
const streamOf = (runId: number, stream = 'properties') =>
  ferry.ledger.db
    .selectFrom('run_stream')
    .selectAll()
    .where('run_id', '=', runId)
    .where('stream', '=', stream)
    .executeTakeFirstOrThrow()
const watermark = async (stream = 'properties') =>
  (
    await ferry.ledger.db
      .selectFrom('stream_watermark')
      .select('watermark')
      .where('stream', '=', stream)
      .executeTakeFirst()
  )?.watermark
const landed = async () =>
  (await ferry.ledger.db.selectFrom('ledger').select('partner_id').orderBy('partner_id').execute()).map(
    ({ partner_id }) => partner_id,
  )

describe('an extraction', () => {
  it('reads everything at first, and then what changed since', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    await hotel('H-2', { at: '2026-01-02T00:00:00Z' })
    const first = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(first)).toMatchObject({
      read: 2,
      changed: 2,
      unchanged: 0,
      watermark_before: null,
      watermark_after: '2026-01-02 00:00:00+00',
    })
    await hotel('H-3', { at: '2026-01-03T00:00:00Z' })
    const second = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(second)).toMatchObject({
      read: 2,
      changed: 1,
      unchanged: 1,
      watermark_before: '2026-01-02 00:00:00+00',
      watermark_after: '2026-01-03 00:00:00+00',
    })
    expect(await landed()).toEqual(['H-1', 'H-2', 'H-3'])
  })

  it('misses no row whose time equals that of the newest row read', async () => {
    const at = '2026-01-01T00:00:00Z'
    await hotel('H-1', { at })
    await extractNow(ferry, partner, { properties: {} })
    await hotel('H-2', { at })
    expect(await streamOf(await extractNow(ferry, partner, { properties: {} }))).toMatchObject({ read: 2, changed: 1 })
    expect(await landed()).toEqual(['H-1', 'H-2'])
  })

  it('keeps microseconds', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00.123455Z' })
    await hotel('H-2', { at: '2026-01-01T00:00:00.123456Z' })
    await extractNow(ferry, partner, { properties: {} })
    expect(await watermark()).toBe('2026-01-01 00:00:00.123456+00')
    expect((await streamOf(await extractNow(ferry, partner, { properties: {} }))).read).toBe(1)
  })

  it('reads again as far before the watermark as the overlap says, and finds what was committed late', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const late = await partner.pool.connect()
    try {
      await late.query('begin')
      await late.query(`insert into hotel (code, name, at) values ('late', 'late', '2026-01-01T23:50:00Z')`)
      await hotel('H-2', { at: '2026-01-02T00:00:00Z' })
      await extractNow(ferry, partner, { properties: {} })
      expect(await landed()).toEqual(['H-1', 'H-2'])
      await late.query('commit')
    } finally {
      late.release()
    }
    const tooShort = await extractNow(ferry, partner, { properties: {} }, { overlapMs: 599_999 })
    expect((await streamOf(tooShort)).read).toBe(1)
    const enough = await extractNow(ferry, partner, { properties: {} }, { overlapMs: 600_000 })
    expect(await streamOf(enough)).toMatchObject({ read: 2, changed: 1 })
    expect(await landed()).toEqual(['H-1', 'H-2', 'late'])
  })

  it('loses no row of a transaction that was open for longer than the overlap', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const late = await partner.pool.connect()
    try {
      await late.query('begin')
      await late.query(`insert into hotel (code, name, at) values ('late', 'late', now())`)
      // To the microsecond: a time of whole milliseconds may lie before the one that the open transaction has.
      const { rows } = await partner.pool.query<{ at: string }>('select clock_timestamp()::text as at')
      await hotel('H-2', { at: rows[0]?.at ?? '' })
      const early = await extractNow(ferry, partner, { properties: {} }, { overlapMs: 0 })
      expect(await landed()).toEqual(['H-1', 'H-2'])
      expect((await streamOf(early)).watermark_after).not.toBeNull()
      await late.query('commit')
    } finally {
      late.release()
    }
    await extractNow(ferry, partner, { properties: {} }, { overlapMs: 0 })
    expect(await landed()).toEqual(['H-1', 'H-2', 'late'])
  })

  it('loses no row of an open transaction where times have no zone and clocks stand behind UTC', async () => {
    const database = new URL(partner.url).pathname.slice(1)
    await partner.pool.query(`alter database ${database} set timezone = 'America/New_York'`)
    const pool = testPool(partner.url, 4)
    const late = await pool.connect()
    try {
      await late.query('begin')
      await late.query(`insert into hotel (code, name, local) values ('late', 'late', localtimestamp)`)
      await pool.query(`insert into hotel (code, name, local) values ('H-1', 'H-1', localtimestamp)`)
      await extractNow(ferry, partner, { properties: { cursor: 'local' } })
      await late.query('commit')
    } finally {
      late.release()
      await pool.end()
      await partner.pool.query(`alter database ${database} reset timezone`)
    }
    await extractNow(ferry, partner, { properties: { cursor: 'local' } })
    expect(await landed()).toEqual(['H-1', 'late'])
  })

  it.each([
    ['a time', 'local', '2026-10-31 23:50', '2026-10-31 23:10'],
    ['a day', 'day', '2026-11-01', '2026-10-31'],
  ])(
    'loses no row that carries %s after clocks were put back, where that has no zone',
    async (_, cursor, before, again) => {
      const streams = { properties: { cursor } }
      await hotel('H-1', { [cursor]: before })
      await extractNow(ferry, partner, streams)
      await hotel('H-2', { [cursor]: again })
      await extractNow(ferry, partner, streams)
      expect(await landed()).toEqual(['H-1', 'H-2'])
    },
  )

  it('does not carry the watermark past what an open transaction writes by clocks that stand elsewhere', async () => {
    const late = await partner.pool.connect()
    try {
      await late.query('begin')
      const { rows } = await late.query<{ local: string }>(
        `insert into hotel (code, name, local) values ('late', 'late', localtimestamp - interval '8 hours')
         returning local::text`,
      )
      await partner.pool.query(
        `insert into hotel (code, name, local)
         values ('H-1', 'H-1', (clock_timestamp() at time zone 'UTC') - interval '8 hours')`,
      )
      const { protection, watermark_after } = await streamOf(
        await extractNow(ferry, partner, { properties: { cursor: 'local' } }),
      )
      expect(protection).toBe('transactions')
      expect(String(watermark_after) <= String(rows[0]?.local)).toBe(true)
    } finally {
      await late.query('rollback')
      late.release()
    }
  })

  it('moves no watermark back for a transaction that began after it, nor on for a row that lies ahead', async () => {
    const streams = { properties: { cursor: 'local' } }
    const late = await partner.pool.connect()
    const behind = async () => {
      const run = await streamOf(await extractNow(ferry, partner, streams))
      expect(run).toMatchObject({ protection: 'transactions', whole: null })
      return String(run.watermark_after)
    }
    try {
      const local = `(clock_timestamp() at time zone 'UTC')`
      await partner.pool.query(`insert into hotel (code, name, local) values ('H-1', 'H-1', ${local})`)
      await extractNow(ferry, partner, streams)
      const before = String(await watermark())
      await late.query('begin')
      // No younger than the tenth of a second that readings stay behind the clock.
      await partner.pool.query('select pg_sleep(0.11)')
      expect(await behind()).toBe(before)
      await partner.pool.query(
        `insert into hotel (code, name, local) values ('H-2', 'H-2', ${local} + interval '1 day')`,
      )
      expect(await behind()).toBe(before)
      expect(await behind()).toBe(before)
    } finally {
      await late.query('rollback')
      late.release()
    }
  })

  it('compares integer cursors as numbers', async () => {
    await hotel('H-1', { number: '9' })
    await hotel('H-2', { number: '9007199254740993' })
    await extractNow(ferry, partner, { properties: { cursor: 'number' } })
    expect(await watermark()).toBe('9007199254740993')
    await hotel('H-3', { number: '10' })
    await hotel('H-4', { number: '9007199254740994' })
    const second = await extractNow(ferry, partner, { properties: { cursor: 'number' } }, { overlapMs: 600_000 })
    expect((await streamOf(second)).read).toBe(2)
    expect(await landed()).toEqual(['H-1', 'H-2', 'H-4'])
  })

  it.each([
    // Without a zone, an hour more: a day is read again with the last of its hours.
    ['day', '2026-03-01', 2],
    ['local', '2026-03-01 12:00:00', 1],
  ])('takes a %s for a cursor, with its overlap', async (cursor, newest, read) => {
    await hotel('H-1', { day: '2026-02-27', local: '2026-02-27T12:00:00' })
    await hotel('H-2', { day: '2026-02-28', local: '2026-02-28T12:00:00' })
    await hotel('H-3', { day: '2026-03-01', local: '2026-03-01T12:00:00' })
    await extractNow(ferry, partner, { properties: { cursor } })
    expect(await watermark()).toBe(newest)
    expect((await streamOf(await extractNow(ferry, partner, { properties: { cursor } }))).read).toBe(read)
    const overlapping = await extractNow(ferry, partner, { properties: { cursor } }, { overlapMs: 86_400_000 })
    expect((await streamOf(overlapping)).read).toBe(read + 1)
  })

  it('does not let a cursor that lies ahead carry the watermark past what changes until then', async () => {
    await hotel('H-1', { at: '2099-01-01T00:00:00Z' })
    await extractNow(ferry, partner, { properties: {} })
    expect(Date.parse(String(await watermark()))).toBeLessThanOrEqual(Date.now())
    await hotel('H-2', { at: new Date().toISOString() })
    await extractNow(ferry, partner, { properties: {} })
    expect(await landed()).toEqual(['H-1', 'H-2'])
  })

  it.each([
    ['in a first reading', [['H-1', 'H-2'], ['H-3']]],
    ['in a reading from the watermark', [['H-1'], ['H-2'], ['H-3']]],
    ['alone', [['H-2'], ['H-3']]],
    ['alone, and then with others', [['H-2'], ['H-1'], ['H-3']]],
  ])(
    'a time without a zone that lies ahead does not carry the watermark past clocks that stand further west: it comes %s',
    async (_, nights) => {
      for (const far of ['2099-01-01', 'infinity', '10000-01-01']) {
        await ferry.clear()
        await partner.pool.query('truncate hotel')
        for (const codes of nights) {
          for (const code of codes) {
            await partner.pool.query(
              `insert into hotel (code, name, local)
               values ($1, $1, coalesce($2::timestamp, (clock_timestamp() at time zone 'UTC') - interval '8 hours'))`,
              [code, code === 'H-2' ? far : null],
            )
          }
          await extractNow(ferry, partner, { properties: { cursor: 'local' } }, { overlapMs: 0 })
        }
        expect(await landed()).toEqual(nights.flat().toSorted())
      }
    },
  )

  it('stores a partner id of any length, and never sends an absurd one', async () => {
    const absurd = 'H'.repeat(100_000)
    await hotel(absurd, { at: '2026-01-01T00:00:00Z' })
    await hotel(`${absurd}2`, { at: '2026-01-01T00:00:00Z' })
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const run = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(run)).toMatchObject({ read: 3, folded: 0, changed: 3 })
    const ids = await landed()
    expect(ids).toHaveLength(3)
    expect(ids.filter((id) => id.length > maxPartnerIdLength)).toHaveLength(2)
  })

  it('reads rows without a cursor every time, counts them, and lets them move no watermark', async () => {
    await hotel('H-1', {})
    const alone = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(alone)).toMatchObject({ read: 1, null_cursor: 1, watermark_after: null })
    expect(await watermark()).toBeUndefined()
    await hotel('H-2', { at: '2026-01-01T00:00:00Z' })
    await hotel('H-3', { at: '2025-01-01T00:00:00Z' })
    await extractNow(ferry, partner, { properties: {} })
    const third = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(third)).toMatchObject({ read: 2, null_cursor: 1, unchanged: 2 })
    expect(await watermark()).toBe('2026-01-01 00:00:00+00')
  })

  it('keeps the watermark when nothing changed', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    await extractNow(ferry, partner, { properties: {} })
    const second = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(second)).toMatchObject({ changed: 0, watermark_after: '2026-01-01 00:00:00+00' })
    expect(await watermark()).toBe('2026-01-01 00:00:00+00')
  })

  it('takes the row with the newer cursor when two have one key', async () => {
    await hotel('H-1', { at: '2026-01-02T00:00:00Z', name: 'new' })
    await hotel('H-1', { at: '2026-01-01T00:00:00Z', name: 'old' })
    const run = await extractNow(ferry, partner, { properties: {} })
    expect(await streamOf(run)).toMatchObject({ read: 2, folded: 1, changed: 1 })
    expect((await ferry.ledger.row('properties', 'H-1')).content).toEqual({ name: 'new' })
  })

  it.each([
    ['one after the other', ['H-1', 'H-1', 'H-2'], { read: 3, folded: 1, changed: 2 }],
    ['apart', ['H-1', 'H-2', 'H-1'], { read: 3, folded: 1, changed: 2 }],
  ])('makes one row of the parts of a calculator that come %s, on the first night', async (_, hotels, counts) => {
    const field = (at: number) => `'00000000-0000-4000-8000-00000000000${at}'`
    const parts = hotels.map((id, at) => `('${id}', 2025, 1, ${field(at)}, '${at}', timestamptz '2026-01-0${at + 1}')`)
    const query = `
      select * from (values ${parts.join(', ')}) as reading (partner_id, year, month, field_type_id, value, updated_at)`
    const run = await extractNow(ferry, partner, { calculator_inputs: { query, cursor: 'updated_at' } })
    expect(await streamOf(run, 'calculator_inputs')).toMatchObject(counts)
    const rows = await ferry.ledger.db
      .selectFrom('ledger')
      .select(['partner_id', 'content'])
      .orderBy('partner_id')
      .execute()
    const valuesOf = (id: string) => hotels.flatMap((hotel, at) => (hotel === id ? [String(at)] : []))
    expect(rows.map(({ partner_id, content }) => [partner_id, Object.values(content.inputs as object)])).toEqual(
      ['H-1', 'H-2'].map((id) => [id, valuesOf(id)]),
    )
  })

  it('keeps any characters of the partner as they are', async () => {
    const names = ['a "quote"', 'line\nbreak', '\\.\\N', '🏨', '\u202e', 'a\tb']
    for (const name of names) await hotel(`id ${name}`, { at: '2026-01-01T00:00:00Z', name })
    await extractNow(ferry, partner, { properties: {} })
    for (const name of some(names))
      expect((await ferry.ledger.row('properties', `id ${name}`)).content).toEqual({ name })
  })

  it('does not depend on how the server prints times and dates', async () => {
    const client = await partner.pool.connect()
    try {
      await client.query(`alter database ${client.escapeIdentifier(new URL(partner.url).pathname.slice(1))}
        set datestyle = 'SQL, DMY'`)
      await client.query(`alter database ${client.escapeIdentifier(new URL(partner.url).pathname.slice(1))}
        set timezone = 'Asia/Tokyo'`)
    } finally {
      client.release()
    }
    await hotel('H-1', { at: '2026-02-01T00:00:00Z' })
    await extractNow(ferry, partner, { properties: {} })
    expect(await watermark()).toBe('2026-02-01 00:00:00+00')
  })

  it.each(['Asia/Shanghai', 'Asia/Kolkata', 'Asia/Manila'])(
    'carries the watermark past no open transaction where the zone of %s is printed as that of another place',
    async (zone) => {
      const name = pg.escapeIdentifier(new URL(partner.url).pathname.slice(1))
      await partner.pool.query(`alter database ${name} set datestyle = 'SQL, DMY'`)
      await partner.pool.query(`alter database ${name} set timezone = '${zone}'`)
      const late = await partner.pool.connect()
      try {
        await late.query('begin')
        const { rows } = await late.query<{ began: string }>(
          `insert into hotel (code, name, at) values ('late', 'late', now())
           returning to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') as began`,
        )
        await hotel('H-1', { at: new Date(Date.now() + 3_600_000).toISOString() })
        const { protection } = await streamOf(await extractNow(ferry, partner, { properties: {} }))
        expect(protection).toBe('transactions')
        expect(String(await watermark()).slice(0, 26) <= String(rows[0]?.began)).toBe(true)
        await late.query('commit')
      } finally {
        await late.query('rollback')
        late.release()
      }
      await extractNow(ferry, partner, { properties: {} })
      expect(await landed()).toEqual(['H-1', 'late'])
    },
  )

  it('reads a stream once in a run, however often the step is begun', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const run = await extractNow(ferry, partner, { properties: {} })
    await hotel('H-2', { at: '2026-01-02T00:00:00Z' })
    await extractNow(ferry, partner, { properties: {}, calculator_settings: { query: settingsQuery } }, {}, run)
    expect((await streamOf(run)).read).toBe(1)
    expect((await streamOf(run, 'calculator_settings')).read).toBe(2)
  })

  it('takes a query that ends in a semicolon or in a comment', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    await extractNow(ferry, partner, { properties: { query: `${propertiesQuery};\n` } })
    await extractNow(ferry, partner, { properties: { query: `${propertiesQuery} -- all of them` } })
    expect(await landed()).toEqual(['H-1'])
  })
})

describe('an extraction that fails', () => {
  const kept = async () => ({
    rows: await landed(),
    watermark: await watermark(),
    streams: await ferry.ledger.db.selectFrom('run_stream').select('stream').execute(),
  })

  it('half-way keeps neither rows nor watermark of the stream, and the next run reads them', async () => {
    await partner.pool.query(`
      insert into hotel (code, name, at, number)
      select 'H-' || n, n, timestamptz '2026-01-01' + n * interval '1 second', n from generate_series(1, 3000) n`)
    const dividing = propertiesQuery.replace('name,', `case when code = 'H-2900' then 1 / (number - 2900) end as name,`)
    const failing = extractNow(ferry, partner, { properties: { query: dividing } }, { fetchRows: 100 })
    await expect(failing).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringContaining('stream properties failed: division by zero'),
    })
    expect(await kept()).toEqual({ rows: [], watermark: undefined, streams: [] })
    const next = await extractNow(ferry, partner, { properties: {} }, { fetchRows: 100 })
    expect(await streamOf(next)).toMatchObject({ read: 3000, changed: 3000 })
  })

  it('keeps the streams that were read before it, so that going on reads the others only', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const run = await ferry.ledger.startRun()
    const dividing = settingsQuery.replace(`'true' as`, `(1 / (length(code) - 3))::text as`)
    const broken = { properties: {}, calculator_settings: { query: dividing } }
    await expect(extractNow(ferry, partner, broken, {}, run)).rejects.toMatchObject({ code: 'partner_query_failed' })
    expect((await kept()).streams).toEqual([{ stream: 'properties' }])
    await extractNow(ferry, partner, { properties: {}, calculator_settings: { query: settingsQuery } }, {}, run)
    expect((await kept()).streams).toHaveLength(2)
  })

  it('an extraction whose query is wrong from the start keeps nothing of the streams before it', async () => {
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    const broken = { properties: {}, calculator_settings: { query: 'select 1 as nothing' } }
    await expect(extractNow(ferry, partner, broken)).rejects.toMatchObject({ code: 'partner_query_failed' })
    expect(await kept()).toEqual({ rows: [], watermark: undefined, streams: [] })
  })

  it('names the columns that a query does not yield, and those that it does', async () => {
    const query = 'select code as partner_id, name, at from hotel'
    await expect(extractNow(ferry, partner, { calculator_settings: { query } })).rejects.toMatchObject({
      code: 'partner_query_failed',
      message:
        'The query of the stream calculator_settings does not yield automatic_yearly_calculation, automatic_publishing; ' +
        'it yields partner_id, name, at. Fix streams.calculator_settings.query.',
    })
    await expect(extractNow(ferry, partner, { properties: { cursor: 'changed' } })).rejects.toMatchObject({
      message: expect.stringContaining('does not yield changed;'),
    })
    expect(await kept()).toMatchObject({ rows: [], streams: [] })
  })

  it('says where the query is wrong', async () => {
    await expect(extractNow(ferry, partner, { properties: { query: 'select select' } })).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringMatching(/stream properties failed: syntax error.*Fix streams\.properties\.query/),
    })
  })

  it('cannot write to the partner', async () => {
    await partner.pool.query('create sequence if not exists written')
    const query = propertiesQuery.replace('name,', `nextval('written') as name,`)
    await hotel('H-1', { at: '2026-01-01T00:00:00Z' })
    await expect(extractNow(ferry, partner, { properties: { query } })).rejects.toMatchObject({
      code: 'partner_query_failed',
      message: expect.stringContaining('read-only transaction'),
    })
  })

  it('names the server that cannot be reached, and never the password', async () => {
    const unreachable = { url: 'postgresql://reader:s3cret-word@127.0.0.1:9/hotels' }
    const error = await extractNow(ferry, unreachable, { properties: {} }).catch((thrown: Error) => thrown)
    expect(error).toMatchObject({ code: 'partner_unreachable', message: expect.stringContaining('127.0.0.1:9/hotels') })
    expect(String(error)).not.toContain('s3cret-word')
  })
})
