import type { Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'

/** Stores the next piece of a submission's payload; ordinals begin with 1. */
export async function storePiece(
  trx: Transaction<Schema>,
  submissionId: number,
  ordinal: number,
  piece: Buffer,
): Promise<void> {
  await trx.insertInto('submission_payload').values({ submission_id: submissionId, ordinal, piece }).execute()
}

/**
 * The pieces of a submission's payload in order, one at a time: the next is fetched once this one was used.
 * An ending that came too early is noticed by the payload's length, which the submission knows.
 */
export async function* readPieces(db: Database, submissionId: number): AsyncGenerator<Buffer> {
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
