import { once } from 'node:events'
import { pipeline, Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import type { Transaction } from 'kysely'
import type { Database } from '../../../db/database.ts'
import { outgoingRows } from '../../../db/ledger/outgoing-rows.ts'
import { readPieces, storePiece } from '../../../db/ledger/stored-payload.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type { Submission } from '../../../db/tables/submission.ts'
import type { Deps } from '../../deps.ts'
import { searchKind } from '../../streams/kind-names.ts'
import { loadReferenceIndex } from '../../streams/rules/reference-index.ts'
import type { OutgoingRow } from '../bodies/body.ts'
import { streamBody } from '../bodies/stream-body.ts'
import { kindOf } from '../kinds.ts'

/** Bytes of a stored piece: what one statement carries, and what sending holds in memory. */
const pieceBytes = 256 * 1024

/** Bytes that are decompressed at a time. */
const inflatedAtOnce = 64 * 1024

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
 * The exact body of a submission as it was stored, decompressed on the way: one piece is in memory at a time.
 * It fails where the pieces cannot be read, are damaged, or end too early.
 */
export function readPayload(db: Database, submissionId: number): Readable {
  const body = createGunzip({ chunkSize: inflatedAtOnce })
  // What goes wrong ends the body, and anyone who reads it is told.
  pipeline(Readable.from(readPieces(db, submissionId)), body, () => {})
  return body
}

/**
 * What a submission says, as it would be sent now, in pieces of any length. Its rows are read on the way.
 * @param onChanged is called when rows have passed that are not what was planned.
 */
export async function* writeBody(
  { contract, config, required }: Deps,
  trx: Transaction<Schema>,
  submission: Submission,
  onChanged: () => void = () => {},
): AsyncGenerator<string> {
  if (submission.kind === searchKind) {
    const names = contract.names.calculatorsSearch
    yield JSON.stringify({
      [names.customPropertyIds]: config.pull.customPropertyIds,
      [names.calculatorTypeIds]: config.pull.calculatorTypeIds,
    })
    return
  }
  const context = {
    contract,
    reference: await loadReferenceIndex(trx),
    customIdentifierId: required.customIdentifierId,
    groupId: required.groupId,
    partition: submission.partition,
  }
  yield* streamBody(kindOf(contract, submission.kind).writeBody, rowsOf(trx, submission, onChanged), context)
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
