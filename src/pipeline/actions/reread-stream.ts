import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import type { Database } from '../../db/database.ts'
import { livingRows } from '../../db/guard/guard-plan.ts'
import { forgetReading, lockReading, putWatermarkBack, watermarkOf } from '../delta/landing/stream-reading.ts'
import { type EarlierCursor, earlierCursor } from '../delta/where-to-read.ts'

/** What a person wants read again, or would. */
type Reread = {
  stream: string
  /** A date, a time or a cursor to read from; null: everything. */
  since: string | null
  now: Date
  /** Null: say what would be forgotten, and change nothing. */
  actor: Actor | null
}

export type Forgotten = {
  stream: string
  /** Ledger rows of the stream that are not gone. */
  known: number
  capture: 'cursor' | 'snapshot' | null
  watermark_before: string | null
  /** What the next run reads from; null: it reads everything. */
  watermark_after: string | null
  action_id: number | null
}

/**
 * Forgets how far a stream was read, wholly or back to a cursor: the next run reads the rows from there again and
 * compares them with the ledger, so that nothing is sent twice. Read wholly, it also finds what is gone.
 *
 * @returns what is forgotten, or why a cursor cannot be gone back to.
 */
export async function rereadStream(
  db: Database,
  { stream, since, now, actor }: Reread,
): Promise<Forgotten | Exclude<EarlierCursor, { kind: 'earlier' }>> {
  return await db.transaction().execute(async (trx) => {
    const { capture } = await lockReading(trx, stream)
    const before = await watermarkOf(trx, stream)
    const known = await livingRows(trx, stream)
    let after: string | null = null
    if (since !== null) {
      const earlier = earlierCursor(before, since, now)
      if (earlier.kind !== 'earlier') return earlier
      after = earlier.cursor
    }
    const forgotten = {
      stream,
      known,
      capture,
      watermark_before: before?.watermark ?? null,
      watermark_after: after,
    }
    // A stream that was never read is read wholly as it is.
    if (actor === null || capture === null) return { ...forgotten, action_id: null }
    if (after === null) await forgetReading(trx, stream)
    else await putWatermarkBack(trx, stream, after)
    const result = after === null ? 'the next run reads all of it' : `the next run reads from ${after} on`
    const asked = { stream, ...(since !== null && { since }) }
    const action = { verb: 'reread', actor, at: now, rows: known, asked, result } as const
    return { ...forgotten, action_id: await recordAction(trx, action) }
  })
}
