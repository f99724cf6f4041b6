import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyLine } from '../../../../src/db/copy-text.ts'
import { bytesOfNumbers, LineBuffer, Part } from '../../../../src/pipeline/pull/merge/direct-writer.ts'

describe('LineBuffer', () => {
  it('writes what copyLine writes, however little memory it began with', () => {
    const field = fc.oneof(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.string({ unit: 'binary' }), fc.constant(null))
    fc.assert(
      fc.property(fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), (rows) => {
        const lines = new LineBuffer(1)
        for (const row of rows) {
          for (const [index, value] of row.entries()) {
            if (index > 0) lines.tab()
            if (typeof value === 'number') lines.int(value)
            else lines.text(value)
          }
          lines.end()
        }
        expect(lines.take().toString()).toBe(Buffer.from(rows.map(copyLine).join('')).toString())
      }),
    )
  })

  it.each([0, 9, 10, 99, 100, 999, 1_000, 999_999_999, 1_000_000_000, 2_147_483_647])('writes %d', (number) => {
    const lines = new LineBuffer(4)
    lines.int(number)
    expect(lines.take().toString()).toBe(String(number))
  })

  it('keeps what was taken while the next is written', () => {
    const lines = new LineBuffer(4)
    lines.text('first')
    const first = lines.take()
    lines.text('other')
    expect(first.toString()).toBe('first')
    expect(lines.length).toBe(5)
    expect(lines.take().toString()).toBe('other')
  })

  it('joins ready parts and bytes to a row', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '7', 'é'), maxLength: 9 })
    const number = fc.integer({ min: 0, max: 2 ** 31 - 1 })
    fc.assert(
      fc.property(number, number, text, text, text, text, (first, second, field, before, value, after) => {
        const lines = new LineBuffer(2)
        const owner = new Part(bytesOfNumbers)
        owner.setNumbers(2_147_483_647, 2_147_483_647)
        owner.setNumbers(first, second)
        const source = Buffer.from(before + value + after)
        const view = new DataView(source.buffer, source.byteOffset, source.byteLength)
        const from = Buffer.byteLength(before)
        const to = from + Buffer.byteLength(value)
        lines.row(owner, Part.of(`${field}\t`), view, from, to)
        lines.bytes(source, from, to)
        expect(lines.take().toString()).toBe(`${first}\t${second}\t${field}\t${value}\n${value}`)
      }),
    )
  })
})
