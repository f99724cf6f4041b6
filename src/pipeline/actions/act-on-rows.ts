import type { Transaction } from 'kysely'
import type { Config } from '../../config/schema.ts'
import { counted } from '../../counted.ts'
import { type Actor, recordAction } from '../../db/actions/record-action.ts'
import type { Database } from '../../db/database.ts'
import { livingRows } from '../../db/guard/guard-plan.ts'
import type { RowFilter } from '../../db/ledger/row-filter.ts'
import {
  countLeftOut,
  countResendable,
  markForResend,
  type ResendFilter,
  resendableRows,
} from '../../db/ledger/rows-again.ts'
import { markForRetry, type RetryCounts } from '../../db/ledger/rows-to-retry.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import { given } from '../../given.ts'
import { forgetReading, lockReading, putWatermarkBack, watermarkOf } from '../delta/landing/stream-reading.ts'
import { type EarlierCursor, earlierCursor } from '../delta/where-to-read.ts'
import { ActionRefused, type Deps } from '../deps.ts'
import { type Restored, type RestoreFilter, restoreRemoved } from '../pull/removals/restore-removed.ts'
import { type Accepted, acceptRemovals, type PartFilter } from '../pull/removals/take-removals.ts'

/**
 * Marks rows that the service rejected, to be sent again as they are by the next run, once. Nothing is written where
 * nothing was rejected.
 * @param carried the streams that runs send.
 * @returns how many rows of each stream were marked.
 */
export async function retryRejected(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  carried: readonly string[],
  filter: RowFilter,
  actor: Actor,
): Promise<RetryCounts[]> {
  const { since, ...texts } = filter
  const asked = { ...texts, ...(since !== undefined && { since: since.toISOString() }) }
  return await db
    .transaction()
    .execute((trx) =>
      recordMarked(trx, { verb: 'retry', actor, at: now(), asked }, (actionId) =>
        markForRetry(trx, actionId, carried, filter),
      ),
    )
}

/** Writes down what a person has marked, with how many rows that were; nothing where there were none. */
async function recordMarked<Counts extends RetryCounts>(
  trx: Transaction<Schema>,
  action: Omit<Parameters<typeof recordAction>[1], 'rows' | 'result'>,
  mark: (actionId: number) => Promise<Counts[]>,
): Promise<Counts[]> {
  const actionId = await recordAction(trx, { ...action, rows: 0 })
  const counts = await mark(actionId)
  const rows = sumOf(counts, 'rows')
  if (rows === 0) await trx.deleteFrom('action').where('action_id', '=', actionId).execute()
  else {
    const suspended = sumOf(counts, 'suspended')
    const result = `${rows} marked; ${whenSent(rows, suspended)}`
    await trx.updateTable('action').set({ rows, result }).where('action_id', '=', actionId).execute()
  }
  return counts
}

/** When marked rows go out, of which so many are of suspended hotels. Pure. */
function whenSent(rows: number, suspended: number): string {
  if (suspended === 0) return 'the next run sends them again'
  if (suspended === rows) return 'they are sent again once their hotels are resumed'
  return `the next run sends ${rows - suspended} of them again, and the rest goes once its hotels are resumed`
}

function sumOf<Name extends string>(counts: readonly Record<Name, number>[], name: Name): number {
  return counts.reduce((sum, one) => sum + one[name], 0)
}

/** Rows that are shown as examples of what a resend marks. */
const examples = 20

/** What a person wants sent again, or would. */
type Resend = {
  filter: ResendFilter
  /** The streams that runs send: of others nothing is marked. */
  carried: readonly string[]
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
  /** Of the rows: those that changed since they were accepted, or that the guard holds. */
  changed: number
  /** Streams of which this is more than the guard lets through. */
  beyond_guard: string[]
  /** Rows that are so too and are left alone, because the service changed them after they were sent. */
  later: number
  /** Rows that were found so before and are left alone, because the newest comparison did not judge them. */
  unjudged: number
  /** Calculators with absent inputs that are left alone, because other inputs of theirs are different. */
  mixed: number
  /** Rows that are left alone, because no run sends their stream: it was taken out of the configuration. */
  unconfigured: number
}

/**
 * Marks rows that the service accepted to be sent again, once, by the next run: as they are, also those that changed
 * since, and as they were accepted if they change back. What is told is what was
 * marked: another person may have marked some of them since they were counted.
 * @throws {ActionRefused} resend_beyond_guard when that is more than the guard lets through; nothing is marked then.
 */
export async function resendAccepted(db: Database, { filter, carried, guard, ...how }: Resend): Promise<Resent> {
  const streams = await countResendable(db, carried, filter)
  const rows = await resendableRows(db, carried, filter, examples)
  const total = sumOf(streams, 'rows')
  const tooMuch = streams.filter(
    (stream) => stream.rows >= guard.minRows && stream.rows > guard.maxChangedShare * stream.known,
  )
  const beyond_guard = tooMuch.map(({ stream }) => stream)
  const later = await countLater(db, carried, filter, total)
  const changed = sumOf(streams, 'changed')
  const leftOut = await countLeftOut(db, carried, filter)
  const resent = { total, streams, rows, changed, beyond_guard, later, ...leftOut }
  const { actor } = how
  if (actor === null || total === 0) return resent
  if (tooMuch.length > 0 && !how.beyondGuard) {
    const named = tooMuch.map(({ stream, rows: many, known }) => `${many} of ${known} rows of ${stream}`).join(', ')
    throw new ActionRefused(
      'resend_beyond_guard',
      `That is more than the guard lets through (guard.maxChangedShare): ${named}. Nothing was marked. A dry run shows them; beyond the guard they are marked all the same`,
    )
  }
  const { at, asked } = how
  const { submissionId } = filter
  const action = { verb: 'resend', actor, at, asked, ...(submissionId !== undefined && { submissionId }) } as const
  const marked = await db
    .transaction()
    .execute((trx) => recordMarked(trx, action, (actionId) => markForResend(trx, actionId, carried, filter)))
  const told = marked.map((one) => ({ known: 0, ...streams.find(({ stream }) => stream === one.stream), ...one }))
  return { ...resent, total: sumOf(marked, 'rows'), changed: sumOf(marked, 'changed'), streams: told }
}

async function countLater(
  db: Database,
  carried: readonly string[],
  filter: ResendFilter,
  total: number,
): Promise<number> {
  if (filter.difference === undefined || filter.alsoLater) return 0
  return sumOf(await countResendable(db, carried, { ...filter, alsoLater: true }), 'rows') - total
}

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

/**
 * Refuses what must not change while a run loads pages. Asked before anything is done, and once more when no page can
 * be loaded any longer: a run that began meanwhile has shown what the next of its pages would bring back.
 */
type RefuseWhileRunning = (db: Database) => Promise<void>

/** Lets withheld removals through and writes down who did. Nothing is written where nothing was withheld. */
export async function acceptRemovalsOf(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: PartFilter,
  actor: Actor,
  refuse: RefuseWhileRunning,
): Promise<Accepted> {
  await refuse(db)
  return await db.transaction().execute(async (trx) => {
    const accepted = await acceptRemovals(trx, filter)
    await refuse(trx)
    const rows = total(accepted)
    if (rows > 0) {
      const result = `${partsWords(accepted)} removed`
      await recordAction(trx, { verb: 'accept-removals', actor, at: now(), rows, asked: askedOf(filter), result })
    }
    return accepted
  })
}

/** Brings back what was removed and writes down who did. Nothing is written where nothing could be brought back. */
export async function bringBack(
  { db, now }: Pick<Deps, 'db' | 'now'>,
  filter: RestoreFilter,
  actor: Actor,
  refuse: RefuseWhileRunning,
): Promise<Restored> {
  await refuse(db)
  return await db.transaction().execute(async (trx) => {
    const restored = await restoreRemoved(trx, filter)
    await refuse(trx)
    const rows = total(restored)
    if (rows > 0) {
      const result = `${partsWords(restored)} brought back`
      await recordAction(trx, { verb: 'restore', actor, at: now(), rows, asked: askedOf(filter), result })
    }
    return restored
  })
}

/** What was removed or brought back, as a person reads it. Pure. */
export function partsWords({ companies, calculators, values, properties }: Accepted | Restored): string {
  return [
    counted(values, 'value'),
    counted(properties, 'property value'),
    counted(calculators, 'calculator'),
    counted(companies, 'company'),
  ].join(', ')
}

/** How many parts in all. Pure. */
export function total({ companies, calculators, values, properties }: Accepted | Restored): number {
  return companies + calculators + values + properties
}

function askedOf({ reason, partnerId, runId, since }: PartFilter): Record<string, string> {
  return given({
    reason,
    partnerId,
    run: runId === undefined ? undefined : String(runId),
    since: since === undefined ? undefined : since.toISOString(),
  })
}
