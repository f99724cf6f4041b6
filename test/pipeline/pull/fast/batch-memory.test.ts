import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BatchMemory } from '../../../../src/pipeline/pull/fast/batch-memory.ts'

describe('BatchMemory', () => {
  it('keeps bytes as they were, whatever becomes of their source, until it is given back', () => {
    const sizes = fc.array(fc.oneof(fc.nat(300), fc.integer({ min: 1, max: 300_000 })), { maxLength: 12 })
    fc.assert(
      fc.property(sizes, (lengths) => {
        const memory = BatchMemory.take()
        const source = Buffer.alloc(300_002)
        const kept = lengths.map((length, index) => {
          source.fill(index + 1)
          return memory.keep(source, 1, length + 1)
        })
        source.fill(255)
        const expected = lengths.map((length, index) => Buffer.alloc(length, index + 1))
        for (const [index, bytes] of kept.entries()) expect(bytes.equals(expected[index] ?? Buffer.alloc(0))).toBe(true)
        memory.giveBack()
      }),
      { numRuns: 60 },
    )
  })

  it('two that are in use share nothing, also when they were used before', () => {
    for (let turn = 0; turn < 20; turn++) {
      const memories = Array.from({ length: 8 }, () => BatchMemory.take())
      expect(new Set(memories).size).toBe(8)
      expect(memories.map(({ tape }) => tape.length)).toEqual(Array.from({ length: 8 }, () => 0))
      const kept = memories.map((memory, index) => memory.keep(Buffer.alloc(100_000, index), 0, 100_000))
      for (const [index, bytes] of kept.entries()) expect(bytes.every((byte) => byte === index)).toBe(true)
      for (const memory of memories) memory.giveBack()
    }
  })

  it('what came since a mark is forgotten, and its place is used again', () => {
    const memory = BatchMemory.take()
    const before = memory.keep(Buffer.from('before'), 0, 6)
    const mark = memory.mark()
    const forgotten = memory.keep(Buffer.alloc(200_000, 1), 0, 200_000)
    memory.keep(Buffer.alloc(200_000, 1), 0, 200_000)
    memory.tape.grow(5)
    memory.backTo(mark)
    const after = memory.keep(Buffer.from('after'), 0, 5)
    expect([before.toString(), after.toString(), memory.tape.grow(1)]).toEqual(['before', 'after', 0])
    expect(forgotten.subarray(0, 5).toString()).toBe('after')
  })
})
