import { describe, expect, it } from 'vitest'
import { beforeOpen, putBackBy } from '../../../src/pipeline/delta/where-to-read.ts'

const hourMs = 3_600_000

describe('a time without a zone', () => {
  it.each([
    ['timestamp without time zone', '2026-11-01 01:50:00.123456', 2 * hourMs, '2026-10-31 23:50:00.123'],
    ['datetime2', '2026-11-01 01:50:00', 100.5, '2026-11-01 01:49:59.899'],
    ['date', '2026-11-01', 1, '2026-10-31'],
    ['datetime', '2026-11-01 01:50:00', 0, '2026-11-01 01:50:00'],
    ['timestamp with time zone', '2026-11-01 01:50:00+00', hourMs, '2026-11-01 01:50:00+00'],
    ['timestamp', '2026-11-01 01:50:00', hourMs, '2026-11-01 01:50:00'],
    ['timestamp without time zone', 'infinity', hourMs, 'infinity'],
    ['datetime', '0000-00-00 00:00:00', hourMs, '0000-00-00 00:00:00'],
    ['datetime', '2026-00-00 00:00:00', hourMs, '2026-00-00 00:00:00'],
    ['date', '0001-01-01', hourMs, '0001-01-01'],
    ['timestamp without time zone', '0044-03-15 12:00:00 BC', hourMs, '0044-03-15 12:00:00 BC'],
  ])('a watermark of the type %s at %s stands back by what has been open for %d ms', (type, newest, openMs, back) => {
    expect(beforeOpen({ newest, itself: newest, reached: newest, cursorType: type, openMs, before: null })).toBe(back)
  })

  it.each([
    ['a row of the time of reading', '01:00:00', '03:00:00', null, '01:00:00'],
    ['clocks that stand further west', '01:00:00', '02:30:00', null, '00:30:00.000'],
    ['a watermark of before the transaction', '01:00:00', '01:00:00', '00:50:00', '00:50:00'],
    ['a watermark that was put back', '03:00:00', '03:00:00', '00:50:00', '01:00:00.000'],
    ['a watermark past all rows', '01:00:00', '01:00:00', '01:10:00', '2026-10-31 23:00:00.000'],
  ])('a watermark stands back once for a transaction of two hours: %s', (_, newest, itself, before, after) => {
    const on = (time: string) => (time.includes(' ') ? time : `2026-11-01 ${time}`)
    const known = before === null ? null : on(before)
    const seen = { newest: on(newest), itself: on(itself), reached: null, cursorType: 'datetime2', openMs: 2 * hourMs }
    expect(beforeOpen({ ...seen, before: known })).toBe(on(after))
  })

  it.each([
    ['the newest that was reached', 0, '2026-10-31 18:00:00', '2026-10-31 17:00:00', '2026-10-31 18:00:00'],
    ['what an open transaction writes', 2, '2026-10-31 18:00:00', null, '2026-10-31 16:00:00.000'],
    ['what began after it', 2, '2026-10-31 18:00:00', '2026-10-31 17:00:00', '2026-10-31 17:00:00'],
    ['where it was, if all rows lie ahead', 2, null, '2026-10-31 17:00:00', '2026-10-31 17:00:00'],
    ['what the clock furthest west shows, if nothing else is known', 0, null, null, '2026-10-31 13:00:00.000'],
  ])('a row that lies ahead leaves the watermark at %s', (_, openHours, reached, before, after) => {
    for (const itself of ['2026-11-01 04:00:00', '2099-01-01 00:00:00', '10000-01-01 00:00:00', 'infinity']) {
      const seen = { newest: '2026-11-01 01:00:00', itself, reached, openMs: openHours * hourMs, before }
      expect(beforeOpen({ ...seen, cursorType: 'datetime2' })).toBe(after)
      expect(beforeOpen({ ...seen, cursorType: 'timestamp with time zone' })).toBe(seen.newest)
    }
  })

  it('a time without a zone is read again for an hour more than one that has one', () => {
    const types = ['timestamp without time zone', 'date', 'text', null, 'timestamp with time zone', 'datetimeoffset']
    expect(types.map(putBackBy)).toEqual([hourMs, hourMs, hourMs, hourMs, 0, 0])
  })
})
