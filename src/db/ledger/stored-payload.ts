import { sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import type { Schema } from '../tables/database-schema.ts'
import type { SubmissionState } from '../tables/submission.ts'

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

const ended: readonly SubmissionState[] = ['settled', 'refused', 'lost', 'abandoned']

/**
 * Removes the payloads of submissions that ended before a moment. What else is known of them stays.
 * @returns of how many submissions.
 */
export async function removePayloads(db: Database, endedBefore: Date): Promise<number> {
  const { rows } = await sql<{ submissions: number }>`
    with removed as (
      delete from submission_payload using submission
      where submission.submission_id = submission_payload.submission_id
        and submission.state = any(${ended}::text[])
        and coalesce(submission.settled_at, submission.attempted_at, submission.planned_at) < ${endedBefore}
      returning submission_payload.submission_id
    )
    select count(distinct submission_id) as submissions from removed`.execute(db)
  return rows[0]?.submissions ?? 0
}
