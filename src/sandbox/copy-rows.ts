import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

export type CopyValue = string | number | null

/** Sends rows to `statement`, a `copy … from stdin`, as they are made: some 64 KB of them are in memory at once. */
export async function copyRows(
  client: pg.PoolClient,
  statement: string,
  rows: Iterable<readonly CopyValue[]>,
): Promise<void> {
  await pipeline(Readable.from(packets(rows)), client.query(copyFrom(statement)))
}

/** Characters that are sent at a time: large enough that a row costs no write of its own. */
const packetLength = 64 * 1024

function* packets(rows: Iterable<readonly CopyValue[]>): Generator<Buffer> {
  let text = ''
  for (const row of rows) {
    text += `${row.map(copyText).join('\t')}\n`
    if (text.length < packetLength) continue
    yield Buffer.from(text, 'utf8')
    text = ''
  }
  yield Buffer.from(text, 'utf8')
}

function copyText(value: CopyValue): string {
  if (value === null) return '\\N'
  return String(value).replace(/[\\\t\n\r]/g, (character) => escapes[character] ?? character)
}

const escapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
