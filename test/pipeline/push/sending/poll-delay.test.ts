import { expect, test } from 'vitest'
import { pollDelayMs } from '../../../../src/pipeline/push/sending/poll-delay.ts'

test('a task is looked at soon, then less and less often, and never more often than that', () => {
  expect([0, 1, 2, 3, 4, 400].map((polls) => pollDelayMs(15_000, polls))).toEqual([
    1875, 3750, 7500, 15_000, 15_000, 15_000,
  ])
})

test('an interval that cannot be halved so often is still waited for', () => {
  expect(pollDelayMs(1, 0)).toBe(1)
})
