import { expect, it } from 'vitest'
import { nextSize } from '../../../src/pipeline/push/waves/learn-size.ts'

const limits = { cap: 10_000, targetMs: 60_000 }
const slow = (rows: number) => nextSize(rows, { rows, verdict: 'succeeded', durationMs: 600_000 }, limits)

it('the planner does not come down to single rows at a service that takes its time whatever it is sent', () => {
  let rows = 10_000
  for (let request = 0; request < 20; request++) rows = slow(rows)
  expect(rows).toBe(100)
})

it('the planner makes nothing larger because it was slow', () => {
  expect(slow(60)).toBe(60)
  expect(slow(1)).toBe(1)
})
