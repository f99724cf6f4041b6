import type { Config } from '../../config/schema.ts'
import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import type { Database } from '../../db/database.ts'
import type { RowFilter } from '../../db/ledger/row-state.ts'
import {
  countResendable,
  markForResend,
  markForRetry,
  type ResendFilter,
  type RetryCounts,
  resendableRows,
} from '../../db/ledger/rows-again.ts'
import { ActionRefused, type Deps } from '../deps.ts'

/**
 * Marks rows that the service rejected, to be sent again as they are by the next run, once. Nothing is written where
 * nothing was rejected.
 * @returns how many rows of each stream were marked.
 */
export async function retryRejected(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: RowFilter,
  actor: Actor,
): Promise<RetryCounts[]> {
  const { since, ...texts } = filter
  const asked = { ...texts, ...(since !== undefined && { since: since.toISOString() }) }
  return await db.transaction().execute(async (trx) => {
    const actionId = await recordAction(trx, { verb: 'retry', actor, at: now(), rows: 0, asked })
    const counts = await markForRetry(trx, actionId, filter)
    const rows = counts.reduce((sum, stream) => sum + stream.rows, 0)
    if (rows === 0) await trx.deleteFrom('action').where('action_id', '=', actionId).execute()
    else {
      const result = `${rows} marked; the next run sends them again`
      await trx.updateTable('action').set({ rows, result }).where('action_id', '=', actionId).execute()
    }
    return counts
  })
}

/** Rows that are shown as examples of what a resend marks. */
const examples = 20

/** What a person wants sent again, or would. */
type Resend = {
  filter: ResendFilter
  guard: Config['guard']
  /** Marks more than the guard lets through too. */
  beyondGuard: boolean
  /** Null: say what would be marked, and mark nothing. */
  actor: Actor | null
  at: Date
  /** As it was asked for, for the table of actions. */
  asked: Record<string, string>
}

type Resent = {
  total: number
  streams: Awaited<ReturnType<typeof countResendable>>
  rows: Awaited<ReturnType<typeof resendableRows>>
  /** Streams of which this is more than the guard lets through. */
  beyond_guard: string[]
}

/**
 * Marks rows that the service accepted to be sent again as they are, once, by the next run.
 * @throws {ActionRefused} resend_beyond_guard when that is more than the guard lets through; nothing is marked then.
 */
export async function resendAccepted(db: Database, { filter, guard, ...how }: Resend): Promise<Resent> {
  const streams = await countResendable(db, filter)
  const rows = await resendableRows(db, filter, examples)
  const total = streams.reduce((sum, stream) => sum + stream.rows, 0)
  const tooMuch = streams.filter(
    (stream) => stream.rows >= guard.minRows && stream.rows > guard.maxChangedShare * stream.known,
  )
  const resent = { total, streams, rows, beyond_guard: tooMuch.map(({ stream }) => stream) }
  const { actor } = how
  if (actor === null || total === 0) return resent
  if (tooMuch.length > 0 && !how.beyondGuard) {
    const named = tooMuch.map(({ stream, rows: many, known }) => `${many} of ${known} rows of ${stream}`).join(', ')
    throw new ActionRefused(
      'resend_beyond_guard',
      `That is more than the guard lets through (guard.maxChangedShare): ${named}. Nothing was marked. A dry run shows them; beyond the guard they are marked all the same`,
    )
  }
  await db.transaction().execute(async (trx) => {
    const { at, asked } = how
    const actionId = await recordAction(trx, {
      verb: 'resend',
      actor,
      at,
      ...(filter.submissionId !== undefined && { submissionId: filter.submissionId }),
      rows: total,
      asked,
    })
    await markForResend(trx, actionId, filter)
  })
  return resent
}
