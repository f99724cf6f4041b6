import type { Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { valuesOf } from '../../db/copy-text.ts'
import { withSession } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { LookupsRead, Run, WholeReason } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot, StreamQuery } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import type { Judge, JudgeRow } from '../preflight/preflight.ts'
import type { StreamShape } from '../streams/stream.ts'
import { guardStream } from './guard-stream.ts'
import { landFirstSnapshot } from './land-first.ts'
import { foldedBefore, forgetSnapshot, hasSnapshot, keepFirstSnapshot, keepSnapshot } from './landing/kept-snapshot.ts'
import { type LandedCounts, landRows, noChange, nothingLanded, type WouldChange } from './landing/land-rows.ts'
import { LineSums } from './landing/line-sums.ts'
import {
  copySnapshot,
  findDifferences,
  findMissing,
  gainedLines,
  neededLines,
  type SnapshotLine,
  wholeLines,
} from './landing/snapshot-lines.ts'
import { createStage, type StagedRow, stagedLine, stageRows } from './landing/stage-rows.ts'
import {
  anyGuarded,
  isNewStream,
  lockReading,
  noteNullCursors,
  noteReading,
  type StreamReading,
} from './landing/stream-reading.ts'
import { lookupChange } from './lookups/lookups-in-use.ts'
import { landingOf } from './staged-lines.ts'
import { isOtherQuery } from './where-to-read.ts'

type SnapshotStream = {
  name: string
  shape: StreamShape
  query: StreamQuery
  queryDigest: string
  lookups: LookupsRead
}

/**
 * Reads all rows of a stream and compares them with its last snapshot inside Postgres. The lines pass through here as
 * bytes; only those that differ are read as rows. What is gone at the partner gets its tombstone.
 */
export async function extractSnapshot(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  { name, shape, query, queryDigest, lookups }: SnapshotStream,
  judge: Judge,
): Promise<void> {
  const counts = await withSession(deps.pool, (session) =>
    session.db.transaction().execute(async (trx) => {
      const before = await lockReading(trx, name)
      const stream = { name, shape, query }
      let held = false
      const guard = async (would: WouldChange, isEmpty: () => Promise<boolean>) => {
        held = await guardStream(deps, trx, run.run_id, name, would, isEmpty)
        return held
      }
      const isNew = (await isNewStream(trx, name)) && !(await guard(noChange, async () => false))
      const otherQuery = isOtherQuery(before, queryDigest)
      // There may be one of a stream that was empty. What equal lines mean depends on columns and key.
      if (isNew || otherQuery) await forgetSnapshot(trx, name)
      const known = await hasSnapshot(trx, name)
      const first = isNew
        ? await landFirstSnapshot({ deps, run, client: session.client, trx, snapshot, stream, judge })
        : null
      const usesLookups = Object.keys(lookups).length > 0
      const reading = { client: session.client, trx, name, shape, query, usesLookups, snapshot, judge: judge.of(name) }
      const landed = first ?? (await compareAndLand(reading, run.run_id, known, judge.basis, guard))
      const { lines, folded } = landed
      // With a later change of mind a cursor begins again: what it knew of this stream is older than the ledger.
      await trx.deleteFrom('stream_watermark').where('stream', '=', name).execute()
      await noteNullCursors(trx, name, false)
      await noteReading(trx, {
        stream: name,
        capture: 'snapshot',
        server: snapshot.server,
        queryDigest,
        lookups,
        whole: 'due',
        complete: true,
        held,
      })
      const counts = { ...landed.counts, read: lines, folded, unchanged: lines - folded - landed.counts.changed }
      await trx
        .insertInto('run_stream')
        .values({
          run_id: run.run_id,
          stream: name,
          ...counts,
          null_cursor: 0,
          capture: 'snapshot',
          protection: null,
          pending: null,
          ...whatIsNew(before, snapshot.server, otherQuery, lookupChange(before.lookups, lookups)),
          watermark_before: null,
          watermark_after: null,
        })
        .execute()
      return counts
    }),
  )
  deps.logger.info({ run_id: run.run_id, stream: name, ...counts }, 'stream_extracted')
}

/**
 * What there is to say of a snapshot beside its counts: all rows are read each time, but not each time for the first
 * time.
 */
function whatIsNew(
  before: StreamReading,
  server: string | null,
  otherQuery: boolean,
  otherLookups: string | null,
): { whole: WholeReason | null; whole_detail: string | null } {
  if (before.capture === 'cursor') return { whole: 'capture', whole_detail: 'was cursor and is snapshot' }
  if (before.whole_wanted === 'reread') return { whole: 'reread', whole_detail: null }
  if (before.server !== null && server !== null && before.server !== server) {
    return { whole: 'server', whole_detail: `was ${before.server} and is ${server}` }
  }
  if (otherQuery) return { whole: 'query', whole_detail: null }
  if (before.capture === null) return { whole: null, whole_detail: null }
  return { whole: otherLookups === null ? null : 'lookup', whole_detail: otherLookups }
}

type Reading = {
  client: PoolClient
  trx: Transaction<Schema>
  name: string
  shape: StreamShape
  query: StreamQuery
  usesLookups: boolean
  snapshot: PartnerSnapshot
  judge: JudgeRow
}

/** Stages the lines that are needed, lands their rows, and keeps the snapshot for the next one. */
async function compareAndLand(
  reading: Reading,
  runId: number,
  known: boolean,
  judgedBy: number,
  guard: (would: WouldChange, isEmpty: () => Promise<boolean>) => Promise<boolean>,
): Promise<{ counts: LandedCounts; lines: number; folded: number }> {
  const { trx, name, shape } = reading
  const read = known ? await readAgain(reading) : await readFirst(reading)
  const isEmpty = async () => read.lines === 0
  // With nothing to land and nothing that waits for approval, the guard has only earlier plans to let go of.
  if (!read.differs && read.lines > 0 && !(await anyGuarded(trx, name))) {
    await guard(noChange, isEmpty)
    return { counts: nothingLanded, lines: read.lines, folded: await foldedBefore(trx, name) }
  }
  const counts = await landRows(trx, {
    runId,
    stream: name,
    foldedKey: shape.parts?.key,
    judgedBy,
    completeRows: read.differs ? (read.first === null ? 'some' : 'all') : 'none',
    lookups: reading.usesLookups,
    missing: read.differs,
    guard: (would) => guard(would, isEmpty),
  })
  return { counts, lines: read.lines, folded: await keep(reading, runId, read) }
}

/** `first`: the sums of a first snapshot, which are to be kept. */
type Read = { lines: number; differs: boolean; first: LineSums | null }

/** Nothing to compare with: every line is a row, and is staged as it passes. */
async function readFirst({ client, trx, name, shape, query, snapshot, judge }: Reading): Promise<Read> {
  await createStage(trx)
  const sums = new LineSums()
  async function* staged(): AsyncGenerator<string> {
    for await (const lines of sums.passing(wholeLines(snapshot.lines(query)))) {
      const batch = lines.toString().split('\n')
      yield batch.map((line) => stagedSnapshotLine(shape, judge, line, { line })).join('')
    }
  }
  await stageRows(client, staged())
  await findMissing(trx, name, true)
  return { lines: sums.lines, differs: true, first: sums }
}

async function readAgain({ client, trx, name, shape, query, usesLookups, snapshot, judge }: Reading): Promise<Read> {
  const read = await copySnapshot(client, trx, name, snapshot.lines(query))
  await createStage(trx)
  if (!read.differs) return { ...read, first: null }
  await findDifferences(trx, name, usesLookups && shape.parts !== undefined)
  const stage = async (batches: AsyncIterable<SnapshotLine[]>) => {
    for await (const batch of batches) {
      const lines = batch.map(({ line, high, low }) => stagedSnapshotLine(shape, judge, line, { hash: { high, low } }))
      await stageRows(client, lines)
    }
  }
  await stage(neededLines(trx, Math.min(neededAtOnce, query.fetchRows)))
  await stage(gainedLines(trx, name, shape.parts?.key, Math.min(neededAtOnce, query.fetchRows)))
  await findMissing(trx, name, false)
  return { ...read, first: null }
}

/** Lines that differ, read at a time: few enough to be gone from memory with the young garbage. */
const neededAtOnce = 500

async function keep({ client, trx, name }: Reading, runId: number, read: Read): Promise<number> {
  if (read.first !== null) return await keepFirstSnapshot(client, trx, name, runId, read.first)
  return read.differs ? await keepSnapshot(trx, name, runId) : await foldedBefore(trx, name)
}

/** Nothing says which of two lines with one key is newer: without a cursor all ordinals are equal. */
function stagedSnapshotLine(
  shape: StreamShape,
  judge: JudgeRow,
  line: string,
  origin: Pick<StagedRow, 'line' | 'hash'>,
): string {
  const row = landingOf(shape, valuesOf(line))
  // Of one that folds nobody can say yet whether it is right: its content is a part.
  return stagedLine({ ...row, ...origin, ordinal: 0, reason: shape.parts === undefined ? judge(row) : undefined })
}
