import { describe, expect, it } from 'vitest'
import { beforeOpen, putBackBy } from '../../../src/pipeline/delta/without-zone.ts'

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
    ['timestamp without time zone', '0044-03-15 12:00:00 BC', hourMs, '0044-03-15 12:00:00 BC'],
  ])('a watermark of the type %s at %s stands back by what has been open for %d ms', (type, newest, openMs, back) => {
    expect(beforeOpen(newest, type, openMs)).toBe(back)
  })

  it('a time without a zone is read again for an hour more than one that has one', () => {
    const types = ['timestamp without time zone', 'date', 'text', null, 'timestamp with time zone', 'datetimeoffset']
    expect(types.map(putBackBy)).toEqual([hourMs, hourMs, hourMs, hourMs, 0, 0])
  })
})
