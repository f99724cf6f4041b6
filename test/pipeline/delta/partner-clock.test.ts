import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { clockPutBack, lostMs } from '../../../src/pipeline/delta/partner-clock.ts'
import { type Ferry, openFerry } from '../push/ferry.ts'
import { extractNow, openPartner, type Partner } from './partner.ts'

let ferry: Ferry
let partner: Partner
beforeAll(async () => {
  ferry = await openFerry()
  partner = await openPartner()
  // Found before the server's own function of that name.
  await partner.pool.query(`
    create schema moved;
    create table moved.clock as select interval '0' as ahead;
    create function moved.statement_timestamp() returns timestamptz language sql stable as
      'select pg_catalog.statement_timestamp() + ahead from moved.clock';
    alter database ${new URL(partner.url).pathname.slice(1)} set search_path = moved, pg_catalog, public`)
})
beforeEach(async () => {
  await ferry.clear()
  await partner.pool.query('truncate public.hotel')
  await clock('0')
})
afterAll(async () => {
  await partner.close()
  await ferry.close()
})

/** Sets the clock of the partner's server, so far ahead of the true time. */
const clock = (ahead: string) => partner.pool.query('update moved.clock set ahead = $1', [ahead])
/** Writes a hotel by the true time. */
const write = (code: string, name: string, ago: string) =>
  partner.pool.query(
    `with gone as (delete from public.hotel where code = $1)
     insert into public.hotel (code, name, at, number, local)
     select $1, $2, at, extract(epoch from at), at at time zone 'UTC'
     from (select pg_catalog.now() - $3::interval as at) written`,
    [code, name, ago],
  )
const night = async (cursor = 'at', overlapMs = 600_000, fullEvery: '7d' | 'never' = '7d') => {
  const runId = await extractNow(ferry, partner, { properties: { cursor, fullEvery } }, { overlapMs })
  return await ferry.ledger.db
    .selectFrom('run_stream')
    .selectAll()
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow()
}
/** The night before was so long ago by our own clock. */
const ago = (ms: number) =>
  ferry.ledger.pool.query('update stream_watermark set partner_ahead_ms = partner_ahead_ms + $1', [ms])
const ledger = async () => {
  const rows = await ferry.ledger.db
    .selectFrom('source_row')
    .select(['partner_id', 'content'])
    .where('gone_at', 'is', null)
    .orderBy('partner_id')
    .execute()
  return rows.map(({ partner_id, content }) => `${partner_id} ${String(content.name)}`)
}
const hourMs = 3_600_000

/** A night at 22:00 by a clock that is twelve hours ahead, put right at 08:00, ten hours later; then the next night. */
async function aheadByTwelveHours(cursor: string, ...night_: [number?, ('7d' | 'never')?]) {
  await clock('-12 hours')
  await write('H-1', 'one', '3 days')
  await write('H-2', 'one', '12 hours 1 minute')
  await night(cursor, ...night_)
  await ago(24 * hourMs)
  await clock('0')
  await write('H-1', 'two', '13 hours')
  await write('H-3', 'new', '1 hour')
  return await night(cursor, ...night_)
}

test.each(['at', 'local'])(
  'what people wrote after a clock was put right is read, though newer rows have come since: the cursor %s',
  async (cursor) => {
    const found = await aheadByTwelveHours(cursor)
    expect(found).toMatchObject({ whole: 'clock', whole_detail: 'by 720 minutes', read: 3, changed: 2 })
    expect(await ledger()).toEqual(['H-1 two', 'H-2 one', 'H-3 new'])
    expect(await night(cursor)).toMatchObject({ whole: null, changed: 0 })
  },
)

test('a query that yields only what changed lately is read from its beginning after a clock was put right', async () => {
  expect(await aheadByTwelveHours('at', 600_000, 'never')).toMatchObject({ whole: 'clock', changed: 2, gone: 0 })
  expect(await ledger()).toEqual(['H-1 two', 'H-2 one', 'H-3 new'])
})

test('a cursor that is no time is not read whole because a clock was put right', async () => {
  expect(await aheadByTwelveHours('number')).toMatchObject({ whole: null, protection: 'none' })
})

test('a clock that lost less than the overlap has so much more read again, and nothing else', async () => {
  await write('H-1', 'one', '3 days')
  await write('H-2', 'one', '1 minute')
  await night()
  await ago(5 * 60_000)
  await write('H-3', 'late', '12 minutes')
  await write('H-4', 'too late', '20 minutes')
  expect(await night()).toMatchObject({ whole: null, read: 2, changed: 1 })
  expect(await ledger()).toEqual(['H-1 one', 'H-2 one', 'H-3 late'])
})

test('a clock that gained, or lost less than a minute, has no stream read whole', async () => {
  await write('H-1', 'one', '3 days')
  await write('H-2', 'one', '1 minute')
  await night('at', 0)
  for (const ms of [-24 * hourMs, 59_000]) {
    await ago(ms)
    expect(await night('at', 0)).toMatchObject({ whole: null, read: 1 })
  }
})

test.each(['at', 'local'])(
  'a watermark of %s that lies ahead of the clock has all rows read, though nobody knows how clocks stood before',
  async (cursor) => {
    await clock('1 day')
    await write('H-1', 'one', '3 days')
    await write('H-2', 'one', '-23 hours')
    await night(cursor)
    // Ours was put right together with the partner's, or an older version took the watermark.
    await ferry.ledger.pool.query('update stream_watermark set partner_ahead_ms = null')
    await clock('0')
    await write('H-1', 'two', '5 hours')
    await write('H-3', 'new', '4 hours')
    const found = await night(cursor)
    expect(found).toMatchObject({ whole: 'clock', read: 3, changed: 2 })
    expect(found.whole_detail).toMatch(/^to before the watermark [-0-9]+ [:.0-9]+(\+00)?$/)
    expect(await ledger()).toEqual(['H-1 two', 'H-2 one', 'H-3 new'])
    expect(await night(cursor)).toMatchObject({ whole: null, changed: 0 })
  },
)

describe('a clock', () => {
  it.each([
    [null, 0, 0],
    [0, 5, 0],
    [1_000, 0, 0],
    [1_001, 0, 1_001],
    [hourMs, 0, hourMs],
    [-hourMs, -3 * hourMs, 2 * hourMs],
  ])('a clock that was %s ms ahead and is %s has lost %s', (before, now, lost) => {
    expect(lostMs(before, now)).toBe(lost)
  })

  it.each([
    ['2026-11-27 22:00:00+00', '2026-11-27 21:58:59+00', 0, true],
    ['2026-11-27 22:00:00+00', '2026-11-27 21:59:01+00', 0, false],
    ['2026-11-27 22:00:00', '2026-11-27 21:00:30', hourMs, false],
    ['2026-11-27 22:00:00', '2026-11-27 20:58:00', hourMs, true],
    ['2026-11-27', '2026-11-27', 0, false],
    ['2026-11-28', '2026-11-26', hourMs, true],
    ['2026-11-27T22:00:00+02:00', '2026-11-27 20:00:00', 0, false],
    ['2026-11-27 22:00:00+00', null, 0, false],
    ['infinity', '2026-11-27 20:00:00+00', 0, false],
    ['20261127', '20261126', 0, false],
    ['2026-11-27 22:00:00.0000000 +00:00', '2026-11-27 21:58:59.0000000 +00:00', 0, true],
    ['2026-11-27 22:00:00.0000000 +00:00', '2026-11-27 21:59:01.0000000 +00:00', 0, false],
    ['2026-11-27', '2026-11-26', 3_600_000, false],
    ['2026-11-27', '2026-11-25', 3_600_000, true],
  ])('a clock showed %s: that the newest time is %s, %s ms being usual, says %s', (before, newest, usualMs, says) => {
    expect(clockPutBack(before, newest, usualMs)).toBe(says)
  })
})
