import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { type CopyValue, copyLine } from '../db/copy-text.ts'
import { bytesPassed } from '../heap.ts'

/** Text handed to the socket at once: large enough that the calls do not count, small enough that memory does not. */
const chunkCharacters = 1 << 16

/**
 * Loads rows by COPY as they are made; never more than a few chunks of them are in memory.
 *
 * @param target table and columns, from our own constants: `hotelier.hotel (hotel_id, code)`.
 * @throws the database's error, for instance 23505; the connection's transaction is then aborted.
 */
export async function copyRows(
  client: pg.ClientBase,
  target: string,
  rows: Iterable<readonly CopyValue[]>,
): Promise<void> {
  await pipeline(Readable.from(chunks(rows)), client.query(copyFrom(`copy ${target} from stdin`)))
}

function* chunks(rows: Iterable<readonly CopyValue[]>): Generator<string> {
  let chunk = ''
  for (const row of rows) {
    chunk += copyLine(row)
    if (chunk.length < chunkCharacters) continue
    yield chunk
    chunk = ''
  }
  if (chunk !== '') yield chunk
}

/**
 * Bytes of values after which the buffers that they came in are freed. With four times as many V8 collected its whole
 * heap ten times for a file of 31 MB, which took longer than to send it.
 */
const valuesPassed = 1024 * 1024

/** What stands before the rows of COPY's binary form: a signature, flags, and the length of what follows. Bytes. */
const binaryHeadLength = 19

/**
 * The values of the only column of a query, a `bytea` that is never null, by COPY in its binary form: the driver gets
 * them as hexadecimal digits otherwise, twice as many bytes that have to be written and read. All are in memory.
 *
 * @param select from our own constants, with its values as literals: COPY takes no parameters.
 */
export async function copyOutBytes(pool: pg.Pool, select: string): Promise<Buffer[]> {
  const client = await pool.connect()
  try {
    const copied = await buffer(client.query(copyTo(`copy (${select}) to stdout (format binary)`)))
    bytesPassed(copied.length, valuesPassed)
    const values: Buffer[] = []
    // Each row is the number of its values, 1, and the value behind its length; -1 values end it.
    for (let at = binaryHeadLength; copied.readInt16BE(at) === 1; ) {
      const from = at + 6
      at = from + copied.readInt32BE(at + 2)
      values.push(copied.subarray(from, at))
    }
    return values
  } finally {
    client.release()
  }
}
