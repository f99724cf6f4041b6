import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type CopyValue, copyLine } from '../db/copy-text.ts'

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
