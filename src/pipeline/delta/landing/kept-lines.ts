import { sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { buckets, wordsOfLine } from './line-sums.ts'

/** Where lines of rows that go straight into the ledger wait to be kept: the temporary table, as COPY is told of it. */
export const keptLines = { into: 'kept_line (bucket, high, low, row_id)', binary: true }

export async function createKeptLines(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table kept_line (bucket integer not null, high bigint not null, low bigint not null, row_id bigint not null)
    on commit drop`.execute(trx)
}

/** Four values: an integer of four bytes, and three of eight, each behind its length. */
const rowBytes = 2 + (4 + 4) + 3 * (4 + 8)

/** The lines of rows, for COPY's binary form; null where the rows bring none. */
export function keptLineRows(rows: readonly { hashes?: Int32Array }[], numbers: readonly number[]): Buffer | null {
  let lines = 0
  for (const { hashes } of rows) lines += (hashes?.length ?? 0) / wordsOfLine
  if (lines === 0) return null
  const bytes = Buffer.allocUnsafe(lines * rowBytes)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let at = 0
  for (const [index, { hashes }] of rows.entries()) {
    const id = numbers[index] ?? 0
    for (let word = 0; word < (hashes?.length ?? 0); word += wordsOfLine) {
      const [highUpper = 0, highLower = 0, lowUpper = 0, lowLower = 0] =
        hashes?.subarray(word, word + wordsOfLine) ?? []
      view.setInt16(at, 4)
      view.setInt32(at + 2, 4)
      view.setInt32(at + 6, highLower & (buckets - 1))
      view.setInt32(at + 10, 8)
      view.setInt32(at + 14, highUpper)
      view.setInt32(at + 18, highLower)
      view.setInt32(at + 22, 8)
      view.setInt32(at + 26, lowUpper)
      view.setInt32(at + 30, lowLower)
      view.setInt32(at + 34, 8)
      view.setUint32(at + 38, Math.floor(id / 2 ** 32))
      view.setUint32(at + 42, id % 2 ** 32)
      at += rowBytes
    }
  }
  return bytes
}
