import type { Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import type { Judge } from '../preflight/preflight.ts'
import type { CursorStream } from '../streams/our-streams.ts'
import { createStage, emptyStage, stageRows } from './landing/stage-rows.ts'
import type { StreamWatermark } from './landing/stream-reading.ts'
import { overtakenHotels } from './overtaken-rows.ts'
import { clockPutBack } from './partner-clock.ts'
import { hotelsAtMost, partialHotels, stageHotelsAnew } from './reread-hotels.ts'
import { nothingSeen, type Seen, stagedLines } from './staged-lines.ts'
import { earlierCursor, movedBack, putBackBy, type Whole } from './where-to-read.ts'

type DeltaReading = {
  deps: Deps
  run: Run
  client: PoolClient
  trx: Transaction<Schema>
  snapshot: PartnerSnapshot
  stream: CursorStream & { aheadMs: number }
  judge: Judge
  before: StreamWatermark | null
  /** How much the partner's clock has lost since the watermark was taken. */
  clockLostMs: number
}

/**
 * What was staged of a stream: why all of its rows, if they were, or of which hotels rows that were gone came in part,
 * so that all of theirs were.
 */
export type ReadDelta = { seen: Seen; whole: Whole | null; partial: readonly string[] }

/**
 * Stages the rows from the watermark on, or all rows where `due` says so or what came shows that the watermark cannot
 * be trusted: its row is not where it was, the clock was put back, or too many hotels came in part. Where fewer did,
 * all rows of these hotels are staged.
 */
export async function stageDelta(reading: DeltaReading, due: Whole | null): Promise<ReadDelta> {
  const { deps, run, client, trx, snapshot, stream, judge, before, clockLostMs } = reading
  const { name, shape, query, cursor, cursorType, protection, fullEveryMs } = stream
  const usualMs = putBackBy(cursorType) + clockLostMs
  const overlapMs = deps.config.partner.overlapMs + usualMs
  const stage = async (from: string | null): Promise<Seen> => {
    const seen = nothingSeen(before?.witness ?? null)
    const rows = snapshot.delta({ ...query, cursor, from, overlapMs })
    await stageRows(client, stagedLines(rows, { shape, judge: judge.of(name), seen }))
    return seen
  }
  const stageAll = async (): Promise<Seen> => {
    await emptyStage(trx)
    return await stage(null)
  }
  await createStage(trx)
  if (due !== null) return { seen: await stage(null), whole: due, partial: [] }
  const from = readFrom(run, before)
  const seen = await stage(from)
  const yieldsAll = fullEveryMs !== null
  if (before !== null && movedBack(before, { cursor: seen.witnessCursor })) {
    const all = await stageAll()
    const reason = !yieldsAll && all.witnessCursor === undefined ? 'cleared' : 'newest_row'
    return { seen: all, whole: { reason, detail: endsAt(before, all) }, partial: [] }
  }
  const isTime = protection !== 'none'
  if (before !== null && isTime && clockPutBack(before.watermark, seen.newestCursor, usualMs + snapshot.openMs)) {
    const detail = `to before the watermark ${before.watermark}`
    return { seen: await stageAll(), whole: { reason: 'clock', detail }, partial: [] }
  }
  // Where a row that does not come may be there all the same, one that was gone is merged as if it had not been.
  const partial = yieldsAll && shape.parts !== undefined ? await partialHotels(trx, name) : []
  const overtaken =
    from !== null && seen.nullCursors > 0 ? await overtakenHotels(trx, name, shape.parts?.key, hotelsAtMost + 1) : []
  const again = [...new Set([...partial, ...overtaken])]
  if (again.length > hotelsAtMost) {
    return { seen: await stageAll(), whole: { reason: 'partial', detail: null }, partial }
  }
  if (again.length > 0) {
    await stageHotelsAnew(trx, { client, snapshot, stream, judge: judge.of(name) }, again, seen)
    deps.logger.info({ run_id: run.run_id, stream: name, hotels: again.length }, 'partial_hotels_read')
  }
  return { seen, whole: null, partial }
}

/** Where reading begins: at the watermark, or before it if a person wants that. */
function readFrom({ asked, started_at }: Run, before: StreamWatermark | null): string | null {
  const watermark = before?.watermark ?? null
  if (asked.since === undefined) return watermark
  const from = earlierCursor(before, asked.since, started_at)
  return from.kind === 'earlier' ? from.cursor : watermark
}

/** Where the cursors of a stream end now that the row which was the newest is not where it was. */
function endsAt({ watermark, witness }: StreamWatermark, { newestCursor }: Seen): string {
  const now = newestCursor === null ? 'no row has a cursor now' : `the newest cursor is ${newestCursor}`
  return `${witness} carried ${watermark}; ${now}`
}
