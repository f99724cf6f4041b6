import { describe, expect, it } from 'vitest'
import { backOffMs, defaultBackOff, retryAfterMs } from '../../src/exchange/back-off.ts'

const now = Date.parse('Sat, 21 Nov 2026 02:00:00 GMT')

describe('retryAfterMs', () => {
  it.each<[string | string[], number]>([
    ['0', 0],
    ['7', 7000],
    [' 7 ', 7000],
    ['Sat, 21 Nov 2026 02:00:30 GMT', 30_000],
    ['Saturday, 21-Nov-26 02:00:30 GMT', 30_000],
    ['Sat Nov 21 02:00:30 2026', 30_000],
    ['Sat, 21 Nov 2026 01:00:00 GMT', 0],
    ['Sun Nov  1 02:00:30 2026', 0],
    ['1.5', 1500],
    ['0.0001', 1],
    ['5, 10', 10_000],
    [['5', '10'], 10_000],
    [['soon', '7'], 7000],
    [['3', 'Sat, 21 Nov 2026 02:00:30 GMT'], 30_000],
  ])('reads %j as %i ms', (header, ms) => {
    expect(retryAfterMs(header, now, 60_000)).toBe(ms)
  })

  it.each([['3600'], ['99999999999999999999'], [`1${'0'.repeat(400)}`], ['Sun, 22 Nov 2026 02:00:00 GMT']])(
    'caps %j',
    (header) => {
      expect(retryAfterMs(header, now, 60_000)).toBe(60_000)
    },
  )

  it.each([
    [undefined],
    [''],
    ['-5'],
    ['-1.5'],
    ['1.'],
    [','],
    ['soon'],
    [[]],
    [['soon', '-1']],
    ['2 days'],
    ['1e3'],
    ['Sat, 99 Nov 2026 02:00:00 GMT'],
  ])('takes %j for nonsense', (header) => {
    expect(retryAfterMs(header, now, 60_000)).toBeUndefined()
  })
})

describe('backOffMs', () => {
  it('doubles from one attempt to the next up to its bound', () => {
    const waits = [1, 2, 3, 4, 5, 6, 7].map((attempt) => backOffMs(defaultBackOff, attempt, 0, null))
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000])
  })

  it('spreads over the upper half of the bound', () => {
    expect(backOffMs(defaultBackOff, 1, 0.999, null)).toBe(500)
  })

  it('never waits less than the service asks for', () => {
    expect(backOffMs(defaultBackOff, 1, 0, 20_000)).toBe(20_000)
    expect(backOffMs(defaultBackOff, 1, 0.5, 20_000)).toBe(21_000)
  })
})
