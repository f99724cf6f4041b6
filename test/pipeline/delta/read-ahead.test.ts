import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import type { PartnerSnapshot } from '../../../src/partner/dialect.ts'
import { landReadingAhead } from '../../../src/pipeline/delta/read-ahead.ts'

const query = { stream: 'any', query: 'select', columns: ['a'], fetchRows: 1, cursor: 'a', from: null, overlapMs: 0 }

/** Tells what is asked of it, and when a reading of it begins and ends; `later` are the rows of all but the first. */
function snapshotOf(rows: number, told: string[], later = rows): PartnerSnapshot {
  let most = rows
  async function* delta(): AsyncGenerator<(string | null)[][]> {
    const count = most
    most = later
    told.push('reading')
    for (let row = 0; row < count; row++) {
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
  const snapshot = snapshotOf(1, told, 1_000_000)
  const all = landReadingAhead(snapshot, ['first', 'second', 'third'], true, async (stream, own) => {
    if (stream === 'first') {
      await drain(own.delta(query))
      await untilNothingGoesOn()
      throw new Error('the disk is full')
    }
    try {
      for await (const _ of own.delta(query)) {
        rows++
        await untilNothingGoesOn()
      }
    } finally {
      await untilNothingGoesOn()
      told.push(`${stream} has ended`)
    }
  })
  await expect(all).rejects.toThrow('the disk is full')
  expect(told).toEqual(['reading', 'read', 'reading', 'second has ended'])
  expect(rows).toBeLessThan(10)
})

it('a stream is given up at once when the one before it cannot be stored, however long its next rows take', async () => {
  async function* delta(): AsyncGenerator<(string | null)[][]> {
    yield [['1']]
    await new Promise(() => {})
  }
  async function* short(): AsyncGenerator<(string | null)[][]> {
    yield [['1']]
  }
  const streams = [short, delta]
  const snapshot = { delta: () => streams.shift()?.() } as unknown as PartnerSnapshot
  const all = landReadingAhead(snapshot, ['first', 'second'], true, async (stream, own) => {
    await drain(own.delta(query))
    await untilNothingGoesOn()
    throw new Error(`${stream} cannot be stored`)
  })
  await expect(all).rejects.toThrow('first cannot be stored')
})

it('a stream that fails gives up nothing of the one before it, which may have to be read again', async () => {
  const told: string[] = []
  const all = landReadingAhead(snapshotOf(1, told), ['first', 'second', 'third'], true, async (stream, snapshot) => {
    await drain(snapshot.delta(query))
    if (stream === 'second') throw new Error('the second cannot be stored')
    await untilNothingGoesOn()
    await drain(snapshot.delta(query))
    told.push(`${stream} is stored`)
  })
  await expect(all).rejects.toThrow('the second cannot be stored')
  expect(told).toEqual(['reading', 'read', 'reading', 'read', 'reading', 'read', 'first is stored'])
})

it('a reading that is broken off to be done in another order is followed by that, not by the next stream', async () => {
  const told: string[] = []
  await landReadingAhead(snapshotOf(2, told), ['first', 'second'], true, async (stream, snapshot) => {
    if (stream === 'first') {
      for await (const _ of snapshot.delta(query)) break
      await untilNothingGoesOn()
    }
    told.push(`${stream} begins`)
    await drain(snapshot.delta(query))
  })
  expect(told).toEqual(['reading', 'first begins', 'reading', 'read', 'second begins', 'reading', 'read'])
})

it('a stream that fails while it is read leaves the turn to nobody, and the error is its own', async () => {
  const told: string[] = []
  const all = landReadingAhead(snapshotOf(3, told), ['first', 'second'], true, async (stream, snapshot) => {
    for await (const _ of snapshot.delta(query)) throw new Error(`${stream} cannot be read`)
  })
  await expect(all).rejects.toThrow('first cannot be read')
  expect(told).toEqual(['reading'])
})

it('rows that were handed on are not kept while their stream is read', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const kept: WeakRef<object>[] = []
  async function* delta(): AsyncGenerator<(string | null)[][]> {
    for (let row = 0; row < 20; row++) {
      const batch = [[String(row)]]
      kept.push(new WeakRef(batch))
      yield batch
    }
  }
  await landReadingAhead({ delta } as unknown as PartnerSnapshot, ['one'], true, async (_, own) => {
    for await (const [row] of own.delta(query)) {
      if (row?.[0] !== '19') continue
      await untilNothingGoesOn()
      collect()
      expect(kept.slice(0, 10).filter((batch) => batch.deref() !== undefined)).toHaveLength(0)
    }
  })
})
