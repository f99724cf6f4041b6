import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { sql } from 'kysely'
import type { Database } from '../../../db/database.ts'
import type { SubmissionState } from '../../../db/tables/submission-tables.ts'

/** Bytes that are decompressed at a time. */
const inflatedAtOnce = 64 * 1024

/**
 * The exact body of a submission as it was stored, decompressed on the way: one piece is in memory at a time.
 * It fails where the pieces cannot be read, are damaged, or end too early.
 */
export function readPayload(db: Database, submissionId: number): Readable {
  const body = createGunzip({ chunkSize: inflatedAtOnce })
  // What goes wrong ends the body, and anyone who reads it is told.
  pipeline(Readable.from(readPieces(db, submissionId), { objectMode: false }), body, () => {})
  return Readable.from(untilWhole(body), { objectMode: false })
}

/** The last bytes come only once all was found whole: a damaged body is never as long as it says that it is. */
async function* untilWhole(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let last: Buffer | undefined
  for await (const bytes of body) {
    if (last !== undefined) yield last
    last = bytes
  }
  if (last !== undefined) yield last
}

/** The pieces of a submission's payload in order, one at a time: the next is fetched once this one was used. */
async function* readPieces(db: Database, submissionId: number): AsyncGenerator<Buffer> {
  for (let ordinal = 1; ; ordinal++) {
    const row = await db
      .selectFrom('submission_payload')
      .select('piece')
      .where('submission_id', '=', submissionId)
      .where('ordinal', '=', ordinal)
      .executeTakeFirst()
    if (row === undefined) return
    yield row.piece
  }
}

/** A body that is kept. */
type KeptBody = {
  submission_id: number
  kind: string
  state: SubmissionState
  bytes: number
}

type NoBodyCode =
  /** There is no such submission. */
  | 'submission_unknown'
  /** The request was not sent yet, or never was. */
  | 'body_unwritten'
  /** Housekeeping has removed it. */
  | 'body_removed'
  /** What is stored of it cannot be read. */
  | 'body_damaged'

/** Why there is no body to show. */
export class NoBody extends Error {
  readonly code: NoBodyCode

  constructor(code: NoBodyCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * The body of a request, if it is kept.
 * @param keptDays for how long it is after the request has ended.
 * @throws {NoBody} otherwise.
 */
export async function findBody(db: Database, submissionId: number, keptDays: number): Promise<KeptBody> {
  const { rows } = await sql<KeptBody & { bytes: number | null; kept: boolean }>`
    select submission_id, kind, state, payload_bytes as bytes,
           exists (select from submission_payload body where body.submission_id = submission.submission_id) as kept
    from submission where submission_id = ${submissionId}`.execute(db)
  const [found] = rows
  if (found === undefined) {
    throw new NoBody(
      'submission_unknown',
      `There is no submission ${submissionId}, or not any more. nightferry submissions lists those of a run`,
    )
  }
  const { kind, state, bytes } = found
  const which = `submission ${submissionId} (${kind}, ${state})`
  if (bytes === null) {
    const later = state === 'planned' ? 'it is written when the request is sent' : 'it was never sent'
    throw new NoBody('body_unwritten', `There is no body of ${which}: ${later}`)
  }
  if (!found.kept) {
    throw new NoBody(
      'body_removed',
      `The body of ${which} is not kept any more: housekeeping removes it push.keepPayloadsDays (${keptDays}) after the request has ended. nightferry submissions ${submissionId} lists what is kept of its rows`,
    )
  }
  return { submission_id: submissionId, kind, state, bytes }
}

/** What kept a body that was there from being read to its end. */
export async function whyUnread(
  db: Database,
  { submission_id: id }: KeptBody,
  keptDays: number,
  error: unknown,
): Promise<unknown> {
  const { code, message } = error as { code?: unknown; message?: string }
  if (typeof code !== 'string' || !code.startsWith('Z_')) return error
  const gone = await findBody(db, id, keptDays).then(
    () => null,
    (why: unknown) => why,
  )
  if (gone instanceof NoBody) return new NoBody(gone.code, `${gone.message}. What was read before is not whole`)
  return new NoBody(
    'body_damaged',
    `What is stored of the body of submission ${id} cannot be read: ${message}. What was read before is not whole; a backup may have it`,
    { cause: error },
  )
}
