import { expect, it } from 'vitest'
import { pushedRows } from '../../../src/partner/server-session.ts'

const length = (row: string) => row.length

/** A driver that pushes until it is stopped. */
function driver(rows: readonly string[], size: number) {
  let next = 0
  let paused = true
  let most = 0
  const pushed = pushedRows<string>(size, length, {
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
      const from = next
      while (!paused && next < rows.length) pushed.push(rows[next++] ?? '')
      most = Math.max(most, next - from)
      if (next === rows.length) pushed.end()
    },
  })
  return { batches: pushed.batches(), most: () => most }
}

it('the buffer of pushed rows holds few rows where they are long, and loses none', async () => {
  const rows = Array.from({ length: 100 }, (_, nth) => `${nth}`.padEnd(400_000))
  const { batches, most } = driver(rows, 5_000)
  const read = []
  for await (const batch of batches) {
    expect(batch.length).toBeLessThanOrEqual(3)
    read.push(...batch)
  }
  expect(read).toEqual(rows)
  expect(most()).toBeLessThanOrEqual(3)
})

it('the buffer of pushed rows makes batches of the size that was asked for where rows are short', async () => {
  const { batches } = driver(Array.from({ length: 25 }, String), 10)
  const sizes = []
  for await (const batch of batches) sizes.push(batch.length)
  expect(sizes).toEqual([10, 10, 5])
})
