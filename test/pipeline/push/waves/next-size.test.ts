import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { SizeVerdict } from '../../../../src/db/tables/submission-tables.ts'
import { nextSize, type SizeEvidence } from '../../../../src/pipeline/push/waves/learn-size.ts'

const targetMs = 60_000
const verdicts = ['succeeded', 'failed', 'too_large', 'answer_lost'] as const satisfies readonly SizeVerdict[]
const size = fc.integer({ min: 1, max: 100_000 })
const duration = fc.option(fc.integer({ min: 0, max: 10 * targetMs }))
const evidence = fc.record({ rows: size, verdict: fc.constantFrom(...verdicts), durationMs: duration })
const limits = (cap: number) => ({ cap, targetMs })
const full = (rows: number, verdict: SizeVerdict, durationMs: number | null = 1_000): SizeEvidence => ({
  rows,
  verdict,
  durationMs,
})

it('nextSize stays between one row and the cap, and moves to twice or to less, never further', () => {
  fc.assert(
    fc.property(size, size, evidence, (current, cap, told) => {
      const next = nextSize(current, told, limits(cap))
      expect(Number.isInteger(next)).toBe(true)
      expect(next).toBeGreaterThanOrEqual(1)
      expect(next).toBeLessThanOrEqual(Math.min(cap, current * 2))
    }),
  )
})

it('nextSize grows after nothing but a success within the target', () => {
  fc.assert(
    fc.property(size, evidence, (current, told) => {
      if (nextSize(current, told, limits(100_000)) <= current) return
      expect(told.verdict).toBe('succeeded')
      expect(told.durationMs).toBeLessThanOrEqual(targetMs)
    }),
  )
})

it('the next size is never larger for a slower request, a larger one that fails, or a smaller cap', () => {
  fc.assert(
    fc.property(size, evidence, size, fc.nat(10 * targetMs), (current, told, cap, more) => {
      const next = nextSize(current, told, limits(cap))
      if (told.durationMs !== null) {
        const slower = nextSize(current, { ...told, durationMs: told.durationMs + more }, limits(cap))
        expect(slower).toBeLessThanOrEqual(next)
      }
      expect(nextSize(current, told, limits(Math.max(1, cap - more)))).toBeLessThanOrEqual(next)
    }),
  )
})

it('counts the first of several requests that fail side by side, and no more', () => {
  fc.assert(
    fc.property(size, fc.constantFrom('failed', 'too_large', 'answer_lost'), (current, verdict) => {
      const told = full(current, verdict)
      const once = nextSize(current, told, limits(100_000))
      expect(nextSize(once, told, limits(100_000))).toBe(once)
      const halved = Math.max(1, Math.floor(current / 2))
      expect(once).toBe(verdict === 'too_large' ? halved : Math.min(current, Math.max(4, halved)))
    }),
  )
})

it.each(['failed', 'answer_lost'] as const)('never makes requests smaller than four rows because one %s', (verdict) => {
  for (const rows of [7, 6, 5, 4]) expect(nextSize(rows, full(rows, verdict), limits(100))).toBe(4)
  for (const rows of [3, 2, 1]) expect(nextSize(rows, full(rows, verdict), limits(100))).toBe(rows)
  expect(nextSize(4, full(4, verdict), limits(2))).toBe(2)
})

it('nextSize comes down to what the service takes, and finds its way up to at least half of it again', () => {
  fc.assert(
    fc.property(size, size, (start, takes) => {
      let current = start
      for (let request = 0; request < 40; request++) {
        const verdict = current > takes ? 'too_large' : 'succeeded'
        current = nextSize(current, full(current, verdict), limits(100_000))
      }
      expect(current * 2).toBeGreaterThan(Math.min(takes, 50_000))
      expect(current).toBeLessThanOrEqual(Math.min(100_000, takes * 2))
    }),
  )
})

it.each(['succeeded', 'failed', 'answer_lost'] as const)(
  'the next size is not moved by a small request that %s',
  (verdict) => {
    expect(nextSize(1_000, full(500, verdict), limits(10_000))).toBe(1_000)
  },
)

it.each([
  ['doubles at the target', 60_000, 2_000],
  ['stays above it', 60_001, 1_000],
  ['stays at four times the target', 240_000, 1_000],
  ['is halved beyond that', 240_001, 500],
  ['stays where the duration is not known', null, 1_000],
])('%s', (_, durationMs, expected) => {
  expect(nextSize(1_000, full(1_000, 'succeeded', durationMs), limits(10_000))).toBe(expected)
})

it('nextSize believes the service that a request was too large, however small it was', () => {
  expect(nextSize(1_000, full(10, 'too_large'), limits(10_000))).toBe(5)
})
