import { once } from 'node:events'
import { createGzip } from 'node:zlib'
import { sql, type Transaction } from 'kysely'
import type { Config } from '../../../config/schema.ts'
import { contentBytesAtOnce, nextFetch } from '../../../db/next-fetch.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { SourceRow } from '../../../db/tables/row-tables.ts'
import type { SearchAsked, Submission } from '../../../db/tables/submission-tables.ts'
import { type Deps, sendingSetting } from '../../deps.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { loadAnswerTypes } from '../../streams/rules/reference-index.ts'
import type { BodyContext, BodyWriter, OutgoingRow } from '../bodies.ts'
import { kindOf } from '../kinds.ts'

/** Bytes of a stored piece: what one statement carries, and what sending holds in memory. */
const pieceBytes = 256 * 1024

/** Characters that are compressed at a time: writers yield a company each, and a call for each would take its time. */
const writtenAtOnce = 64 * 1024

/**
 * Compresses a body and stores it in pieces while it is being written: neither is ever held whole.
 * @returns the bytes of the body, not compressed.
 */
export async function storePayload(
  trx: Transaction<Schema>,
  submissionId: number,
  body: AsyncIterable<string>,
): Promise<number> {
  const gzip = createGzip({ level: 3 })
  let compressed: Buffer[] = []
  gzip.on('data', (part: Buffer) => compressed.push(part))
  let ordinal = 0
  const storeWhole = async (least: number): Promise<void> => {
    if (sizeOf(compressed) < least) return
    let rest = Buffer.concat(compressed)
    for (; rest.length >= least && rest.length > 0; rest = rest.subarray(pieceBytes)) {
      ordinal += 1
      await storePiece(trx, submissionId, ordinal, rest.subarray(0, pieceBytes))
    }
    compressed = rest.length > 0 ? [Buffer.from(rest)] : []
  }
  let bytes = 0
  for await (const part of inParts(body)) {
    bytes += part.length
    // What it has compressed of that has been handed over when it calls back.
    await new Promise<void>((resolve, reject) => gzip.write(part, (error) => (error ? reject(error) : resolve())))
    await storeWhole(pieceBytes)
  }
  gzip.end()
  await once(gzip, 'end')
  await storeWhole(1)
  return bytes
}

async function* inParts(body: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let texts: string[] = []
  let length = 0
  for await (const text of body) {
    texts.push(text)
    length += text.length
    if (length < writtenAtOnce) continue
    yield Buffer.from(texts.join(''))
    texts = []
    length = 0
  }
  if (length > 0) yield Buffer.from(texts.join(''))
}

function sizeOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0)
}

/**
 * What a submission says, as it would be sent now, in pieces of any length. Its rows are read on the way.
 * @param onChanged is called when rows have passed that are not what was planned.
 */
export async function* writeBody(
  deps: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  onChanged: () => void = () => {},
): AsyncGenerator<string> {
  const { contract, config, pool, required } = deps
  if (submission.kind === searchKind) {
    const names = contract.names.calculatorsSearch
    const { customPropertyIds, calculatorTypeIds } = wantedOfSearch(config)
    yield JSON.stringify({
      [names.customPropertyIds]: customPropertyIds,
      [names.calculatorTypeIds]: calculatorTypeIds,
    })
    return
  }
  const context = {
    contract,
    reference: await loadAnswerTypes(pool, trx),
    customIdentifierId: sendingSetting(deps, 'customIdentifierId'),
    groupId: submission.kind === 'calculators' ? sendingSetting(deps, 'groupId') : required.groupId,
    partition: submission.partition,
  }
  yield* streamBody(kindOf(contract, submission.kind).writeBody, rowsOf(trx, submission, onChanged), context)
}

/** What a search for calculators asks for if its body is written now. */
export function wantedOfSearch({ pull }: Config): SearchAsked {
  return { customPropertyIds: pull.customPropertyIds, calculatorTypeIds: pull.calculatorTypeIds }
}

async function* rowsOf(
  trx: Transaction<Schema>,
  { submission_id }: Submission,
  onChanged: () => void,
): AsyncGenerator<OutgoingRow[]> {
  for await (const rows of outgoingRows(trx, submission_id)) {
    if (rows.some(({ changed }) => changed)) onChanged()
    yield rows as OutgoingRow[]
  }
}

/**
 * Writes a body while its rows are being read: before each piece there are rows at hand up to the first of another
 * property, and no more than a batch beyond that. So memory depends on the largest property, not on the body.
 *
 * @param batches rows ordered by partner id.
 * @throws when the writer wants to read further between two pieces than a BodyWriter may, however short the body is.
 */
export async function* streamBody(
  write: BodyWriter,
  batches: AsyncIterable<readonly OutgoingRow[]>,
  context: BodyContext,
): AsyncGenerator<string> {
  const source = batches[Symbol.asyncIterator]()
  let atHand: OutgoingRow[] = []
  let next = 0
  /** Rows before this position may be taken for the piece that comes next. */
  let allowed = 0
  let atEnd = false

  const endOfProperty = (): number => {
    const first = atHand[next]?.partner_id
    const other = atHand.findIndex((row, at) => at > next && row.partner_id !== first)
    return other === -1 ? atHand.length : other + 1
  }
  const fetchProperty = async (): Promise<void> => {
    if (allowed > next && atHand[allowed - 1]?.partner_id !== atHand[next]?.partner_id) return
    for (;;) {
      allowed = endOfProperty()
      const complete = atHand[allowed - 1]?.partner_id !== atHand[next]?.partner_id
      if (atEnd || (next < atHand.length && complete)) return
      const batch = await source.next()
      if (batch.done === true) atEnd = true
      else {
        atHand = [...atHand.slice(next), ...batch.value]
        next = 0
      }
    }
  }
  const rows: IterableIterator<OutgoingRow> = {
    [Symbol.iterator]: () => rows,
    next() {
      const row = atHand[next]
      if (row !== undefined && next < allowed) {
        next += 1
        return { done: false, value: row }
      }
      if (atEnd && row === undefined) return { done: true, value: undefined }
      throw new Error('the writer of a body read on beyond one property without yielding what it has')
    },
  }
  const pieces = write(rows, context)
  for (;;) {
    await fetchProperty()
    const piece = pieces.next()
    if (piece.done === true) return
    yield piece.value
  }
}

/** Rows fetched at first, when nobody knows how long their texts are, and at most: then round trips do not count. */
const firstFetch = 10
const largestFetch = 250

type FetchedRow = Pick<SourceRow, 'stream' | 'partner_id' | 'content'> & {
  /** Its content is not what was planned. */
  changed: boolean
  /** Of the content as it is stored. */
  bytes: number
}

/**
 * The rows that a submission carries, ordered by partner id, in batches through a server-side cursor. The transaction
 * may be used for other statements between two batches, but not for another reading like this one.
 */
async function* outgoingRows(trx: Transaction<Schema>, submissionId: number): AsyncGenerator<FetchedRow[]> {
  await sql`
    declare outgoing_rows no scroll cursor for
    select source_row.stream, source_row.partner_id, source_row.content,
           pg_column_size(source_row.content) as bytes,
           submission_row.sent_hash is distinct from source_row.desired_hash as changed
    from submission_row join source_row using (row_id)
    where submission_row.submission_id = ${submissionId}
    order by source_row.partner_id, source_row.row_id`.execute(trx)
  let asked = firstFetch
  for (;;) {
    const { rows } = await sql<FetchedRow>`fetch ${sql.lit(asked)} from outgoing_rows`.execute(trx)
    if (rows.length === 0) break
    yield rows
    asked = nextFetch(rows, contentBytesAtOnce, largestFetch)
  }
  // Where reading was broken off, the end of the transaction closes it.
  await sql`close outgoing_rows`.execute(trx)
}

/** Stores the next piece of a submission's payload; ordinals begin with 1. */
async function storePiece(
  trx: Transaction<Schema>,
  submissionId: number,
  ordinal: number,
  piece: Buffer,
): Promise<void> {
  await trx.insertInto('submission_payload').values({ submission_id: submissionId, ordinal, piece }).execute()
}
