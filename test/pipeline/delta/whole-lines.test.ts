import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextCount } from '../../../src/partner/dialect.ts'
import { wholeLines } from '../../../src/pipeline/delta/landing/snapshot-lines.ts'

async function* pieces(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  let from = 0
  for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(from, to)
    from = to
  }
}

describe('lines of a byte stream', () => {
  it('lines of a byte stream are the same wherever it is cut, also within a character', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\t', 'é', '🏨', '\u2028', '\\N') })
    await fc.assert(
      fc.asyncProperty(fc.array(text), fc.array(fc.nat()), async (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const at = cuts.map((cut) => cut % (bytes.length + 1))
        const read: string[] = []
        for await (const whole of wholeLines(pieces(bytes, at))) read.push(...whole.toString().split('\n'))
        expect(read).toEqual(lines)
      }),
    )
  })
})

describe('the number of rows to fetch next', () => {
  const rows = (count: number, length: number) => Array.from({ length: count }, () => ['x'.repeat(length), null])

  it('falls as soon as rows are long', () => {
    expect(nextCount(rows(1_000, 50_000), 5_000)).toBe(1)
  })

  it('grows to what makes a batch, by twice at most, and never beyond the setting', () => {
    expect(nextCount(rows(100, 0), 5_000)).toBe(200)
    expect(nextCount(rows(4_000, 0), 5_000)).toBeLessThan(4_000)
    expect(nextCount(rows(400, 0), 300)).toBe(300)
  })
})
