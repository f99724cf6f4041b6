import { expect, it } from 'vitest'
import type { PartnerSnapshot } from '../../../src/partner/dialect.ts'
import { landReadingAhead } from '../../../src/pipeline/delta/read-ahead.ts'

const query = { stream: 'any', query: 'select', columns: ['a'], fetchRows: 1, cursor: 'a', from: null, overlapMs: 0 }

/** Tells what is asked of it, and when a reading of it begins and ends. */
function snapshotOf(rows: number, told: string[]): PartnerSnapshot {
  async function* delta(): AsyncGenerator<(string | null)[][]> {
    told.push('reading')
    for (let row = 0; row < rows; row++) {
      await Promise.resolve()
      yield [[String(row)]]
    }
    told.push('read')
  }
  const hasRows = async () => {
    told.push('asked')
    return true
  }
  return { delta, hasRows } as unknown as PartnerSnapshot
}

/** Everything that can go on without what is waited for. */
const untilNothingGoesOn = () => new Promise((resolve) => setTimeout(resolve, 0))

async function drain(rows: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of rows) count++
  return count
}

it('while the rows of one stream are stored the next is read, and no third', async () => {
  const told: string[] = []
  const first = Promise.withResolvers<void>()
  const all = landReadingAhead(snapshotOf(3, told), ['first', 'second', 'third'], true, async (stream, snapshot) => {
    await drain(snapshot.delta(query))
    told.push(`${stream} is read`)
    if (stream === 'first') await first.promise
    told.push(`${stream} is stored`)
  })
  await untilNothingGoesOn()
  const two = ['reading', 'read', 'first is read', 'reading', 'read', 'second is read', 'second is stored']
  expect(told).toEqual(two)
  first.resolve()
  await all
  expect(told.slice(two.length)).toEqual(['first is stored', 'reading', 'read', 'third is read', 'third is stored'])
})

it('on one connection each stream is stored before the next is read', async () => {
  const told: string[] = []
  await landReadingAhead(snapshotOf(1, told), ['first', 'second'], false, async (stream, snapshot) => {
    await drain(snapshot.delta(query))
    await untilNothingGoesOn()
    told.push(`${stream} is stored`)
  })
  expect(told).toEqual(['reading', 'read', 'first is stored', 'reading', 'read', 'second is stored'])
})

it('what a stream asks while another is read is asked once that has been read', async () => {
  const told: string[] = []
  await landReadingAhead(snapshotOf(3, told), ['first', 'second'], true, async (stream, snapshot) => {
    await drain(snapshot.delta(query))
    if (stream === 'second') return
    await untilNothingGoesOn()
    expect(await snapshot.hasRows(query)).toBe(true)
    await drain(snapshot.delta(query))
  })
  expect(told).toEqual(['reading', 'read', 'reading', 'read', 'asked', 'reading', 'read'])
})

it('when a stream cannot be stored, the next is read no further, and its error is told once both have ended', async () => {
  const told: string[] = []
  let rows = 0
  const all = landReadingAhead(
    snapshotOf(1_000_000, told),
    ['first', 'second', 'third'],
    true,
    async (stream, snapshot) => {
      if (stream === 'first') {
        for await (const _ of snapshot.delta(query)) break
        await untilNothingGoesOn()
        throw new Error('the disk is full')
      }
      try {
        for await (const _ of snapshot.delta(query)) {
          rows++
          await untilNothingGoesOn()
        }
      } finally {
        await untilNothingGoesOn()
        told.push(`${stream} has ended`)
      }
    },
  )
  await expect(all).rejects.toThrow('the disk is full')
  expect(told).toEqual(['reading', 'reading', 'second has ended'])
  expect(rows).toBeLessThan(10)
})

it('a stream that fails while it is read leaves the turn to nobody, and the error is its own', async () => {
  const told: string[] = []
  const all = landReadingAhead(snapshotOf(3, told), ['first', 'second'], true, async (stream, snapshot) => {
    for await (const _ of snapshot.delta(query)) throw new Error(`${stream} cannot be read`)
  })
  await expect(all).rejects.toThrow('first cannot be read')
  expect(told).toEqual(['reading'])
})
