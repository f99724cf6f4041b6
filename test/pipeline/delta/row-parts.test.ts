import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { RowNeedsCare } from '../../../src/pipeline/delta/landing/land-directly.ts'
import { directRows, nothingSeen, stagedLines } from '../../../src/pipeline/delta/staged-lines.ts'
import { ourShape } from '../../../src/pipeline/streams/our-streams.ts'
import type { StreamShape } from '../../../src/pipeline/streams/stream.ts'

const shape = ourShape('calculator_inputs')
/** The same, but that no row is known to be a further part. */
const rowByRow: StreamShape = { ...shape, ...(shape.parts && { parts: { ...shape.parts, isName: () => false } }) }

const ids = [
  '8d5b3a52-3d0e-4f5e-9a5e-6f0b1d0c2a11',
  '8D5B3A52-3D0E-4F5E-9A5E-6F0B1D0C2A11',
  '8d5b3a52-3d0e-4f5e-9a5e-6f0b1d0c2a12',
]

/** Hotel, year, month, field type, value, cursor, the cursor itself. */
const values = fc
  .tuple(
    fc.constantFrom('H-1', 'H-2', '', null, 'H'.repeat(1_200)),
    fc.constantFrom('2024', '2025', null),
    fc.constantFrom('1', null),
    fc.constantFrom(...ids, 'water', '', null, 'constructor'),
    fc.constantFrom('1', '2', null),
    fc.constantFrom('a', 'b', 'b', null),
  )
  .map((columns) => [...columns, null])
const batches = fc.array(fc.array(values, { maxLength: 8 }), { maxLength: 6 })

async function* inBatches(read: (string | null)[][][]) {
  for (const batch of read) yield batch
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}

async function staged(read: (string | null)[][][], as: StreamShape) {
  const seen = nothingSeen('["H-1","2024","1"]')
  const lines = await collect(stagedLines(inBatches(read), { shape: as, judge: () => null, seen }))
  return { lines, seen }
}

async function direct(read: (string | null)[][][], as: StreamShape, inAnyOrder: boolean) {
  const seen = nothingSeen()
  try {
    const rows = await collect(directRows(inBatches(read), { shape: as, judge: () => null, seen, inAnyOrder }))
    return { rows, seen }
  } catch (error) {
    if (error instanceof RowNeedsCare) return error.why
    throw error
  }
}

test('rows that are known to be further parts make the ledger rows that they make when each is read whole', async () => {
  await fc.assert(
    fc.asyncProperty(batches, fc.boolean(), async (read, inAnyOrder) => {
      expect(await staged(read, shape)).toEqual(await staged(read, rowByRow))
      expect(await direct(read, shape, inAnyOrder)).toEqual(await direct(read, rowByRow, inAnyOrder))
    }),
    { numRuns: 500 },
  )
})

test('of further parts, also in the next batch, nothing else is read', async () => {
  const row = (id: string, value: string, cursor = 'a') => ['H-1', '2024', '1', id, value, cursor, null]
  const toRow = vi.fn(shape.toRow)
  const { lines, seen } = await staged(
    [[row(ids[0] ?? '', '1')], [row(ids[2] ?? '', '2'), row(ids[0] ?? '', '3', 'b')]],
    {
      ...shape,
      toRow,
    },
  )
  expect(toRow).toHaveBeenCalledTimes(1)
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain(`{"year":"2024","month":"1","inputs":{"${ids[0]}":"3","${ids[2]}":"2"}}`)
  expect(seen).toMatchObject({ rows: 3, folded: 2 })
})
