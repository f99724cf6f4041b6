import { expect, it } from 'vitest'
import { backOffMs } from '../../../src/pipeline/push/call-failed.ts'

it('doubles the wait from a second and never waits longer than a minute', () => {
  expect([1, 2, 3, 6, 7, 8, 1_000_000].map(backOffMs)).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000, 60_000])
})
