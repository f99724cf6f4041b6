import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { binaryStream } from '../../../../src/db/copy-text.ts'
import { LineSums } from '../../../../src/pipeline/delta/landing/line-sums.ts'
import { packedLines, wholeLines } from '../../../../src/pipeline/delta/landing/snapshot-lines.ts'
import { openLedger } from '../../../db/ledger/ledger.ts'
import { ofThisFile } from '../../../helpers/of-this-file.ts'

const ledger = await ofThisFile(openLedger())

const line = fc.string({ unit: fc.constantFrom('a', '\t', 'é', '🏨', '\u2028', '\\N', 'H-1234567'), maxLength: 30 })
const lines = fc.array(line, { maxLength: 60 })

async function* pieces(text: string, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  let from = 0
  for (const to of [...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length]) {
    yield bytes.subarray(from, to)
    from = to
  }
}

async function sumsOf(lines: readonly string[], cuts: readonly number[] = []): Promise<LineSums> {
  const sums = new LineSums()
  for await (const _ of sums.passing(wholeLines(pieces(lines.map((one) => `${one}\n`).join(''), cuts))));
  return sums
}

test('sums are those that the server would take of the same lines', async () => {
  await fc.assert(
    fc.asyncProperty(lines, fc.array(fc.nat()), async (some, cuts) => {
      const sums = await sumsOf(some, cuts)
      const { rows } = await sql<Record<string, unknown>>`
        select (high & 4095)::integer as bucket, count(*) as lines, sum(high)::text as high, sum(low)::text as low
        from (
          select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low from unnest(${some}::text[]) line
        ) hashed
        group by 1 order by 1`.execute(ledger.db)
      expect(sums.rows()).toEqual(rows.map(({ bucket, lines, high, low }) => [bucket, lines, high, low]))
      expect(sums.lines).toBe(some.length)
    }),
    { numRuns: 60 },
  )
})

test('sums are exact of more equal lines than a number of 53 bits can sum', async () => {
  const count = 5_000_000
  const sums = new LineSums()
  const some = Buffer.from(Array.from({ length: 1_000 }, () => 'the same').join('\n'))
  for (let added = 0; added < count; added += 1_000) sums.add(some)
  const { rows } = await sql<{ bucket: number; high: string; low: string }>`
    select (hashtextextended('the same', 0) & 4095)::integer as bucket,
           (hashtextextended('the same', 0)::numeric * ${count}::integer)::text as high,
           (hashtextextended('the same', 1)::numeric * ${count}::integer)::text as low`.execute(ledger.db)
  const [expected] = rows
  expect(sums.rows()).toEqual([[expected?.bucket, count, expected?.high, expected?.low]])
})

test('neither the order of lines nor where they are cut changes their sums', async () => {
  const shuffled = lines.chain((some) =>
    fc.tuple(fc.constant(some), fc.shuffledSubarray(some, { minLength: some.length, maxLength: some.length })),
  )
  await fc.assert(
    fc.asyncProperty(shuffled, fc.array(fc.nat()), async ([some, others], cuts) => {
      expect((await sumsOf(others, cuts)).rows()).toEqual((await sumsOf(some)).rows())
    }),
  )
})

test('a line that is another, is gone or comes once more changes the sums', async () => {
  await fc.assert(
    fc.asyncProperty(lines, lines, line, async (some, others, one) => {
      const sums = (await sumsOf(some)).rows()
      const same = JSON.stringify(some.toSorted()) === JSON.stringify(others.toSorted())
      expect(JSON.stringify((await sumsOf(others)).rows()) === JSON.stringify(sums)).toBe(same)
      expect((await sumsOf([...some, one])).rows()).not.toEqual(sums)
    }),
  )
})

/** The values of rows of one column. */
async function unpacked(packed: AsyncIterable<Buffer>): Promise<string[]> {
  const bytes: Buffer[] = []
  for await (const piece of binaryStream(packed)) bytes.push(piece)
  const all = Buffer.concat(bytes)
  const values: string[] = []
  let at = 19
  while (all.readInt16BE(at) === 1) {
    const length = all.readInt32BE(at + 2)
    values.push(all.toString('utf8', at + 6, at + 6 + length))
    at += 6 + length
  }
  expect(all.length).toBe(at + 2)
  return values
}

test('values hold whole lines, and no more of them than fit into a page', async () => {
  const long = fc.oneof(
    line,
    fc.integer({ min: 0, max: 9_000 }).map((length) => 'x'.repeat(length)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(long, { minLength: 1 }), fc.array(fc.nat()), async (some, cuts) => {
      const values = await unpacked(packedLines(wholeLines(pieces(some.map((one) => `${one}\n`).join(''), cuts))))
      expect(values.join('\n').split('\n')).toEqual(some)
      for (const value of values) expect(value.length <= 8_000 || value.lastIndexOf('\n') < 1).toBe(true)
    }),
  )
})
