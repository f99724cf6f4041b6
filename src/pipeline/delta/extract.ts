import { sql, type Transaction } from 'kysely'
import { fullEveryMs } from '../../config/push-settings.ts'
import { type Database, withSession } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run, WholeReason } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot, StreamQuery } from '../../partner/dialect.ts'
import { openPartnerSnapshot } from '../../partner/partner-snapshot.ts'
import { type Deps, sendingSetting } from '../deps.ts'
import { type Judge, loadJudge } from '../preflight/preflight.ts'
import { type CursorStream, queryDigestOf, shapeOf, streamNamesOf } from '../streams/our-streams.ts'
import { extractSnapshot } from './extract-snapshot.ts'
import { guardStream } from './guard-stream.ts'
import { landFirst } from './land-first.ts'
import { findMissingUnsent } from './landing/after-landing.ts'
import { forgetSnapshot } from './landing/kept-snapshot.ts'
import { type LandedCounts, landRows, noChange, type WouldChange } from './landing/land-rows.ts'
import { findMissing } from './landing/snapshot-lines.ts'
import {
  isNewStream,
  lockReading,
  noteNullCursors,
  noteReading,
  type StreamWatermark,
  watermarkOf,
} from './landing/stream-reading.ts'
import { lookupsRead } from './lookups/lookups-in-use.ts'
import { type ColumnLookups, readLookups } from './lookups/read-lookup.ts'
import { translatedSnapshot } from './lookups/translated-snapshot.ts'
import { lostMs, partnerAheadMs, readsWhole } from './partner-clock.ts'
import { landReadingAhead } from './read-ahead.ts'
import { rereadContradicted } from './reread-hotels.ts'
import { type ReadDelta, stageDelta } from './stage-delta.ts'
import { nothingSeen, type Seen } from './staged-lines.ts'
import { beforeOpen, type Whole, whyWhole } from './where-to-read.ts'

/**
 * Reads what changed in the partner's database into the ledger. Every stream is read through one snapshot, and lands in
 * a transaction of its own, which may end while the next is read; a stream that this run has read already is left
 * alone. Of hotels whose rows then contradict each other, all rows are read from the same snapshot.
 *
 * @param options.ahead false where `deps.pool` is a single connection.
 * @throws {PartnerDatabaseError} when the partner's database cannot be reached or a query of the configuration fails.
 * @throws {StopRun} `lookup_unusable`, before anything is read.
 */
export async function extract(deps: Deps, run: Run, { ahead = true }: { ahead?: boolean } = {}): Promise<void> {
  const { config, contract, db } = deps
  const { streams: asked } = run.asked
  const names = streamNamesOf(contract).filter((name) => config.streams[name] && (asked?.includes(name) ?? true))
  if (names.length === 0) return
  const done = await db.selectFrom('run_stream').select('stream').where('run_id', '=', run.run_id).execute()

  const lookups = await readLookups(config, names)
  const partner = await openPartnerSnapshot({
    url: sendingSetting(deps, 'partnerUrl'),
    statementTimeoutMs: config.partner.statementTimeoutMs,
  })
  const snapshot = translatedSnapshot(partner, lookups)
  try {
    const aheadMs = await partnerAheadMs(db, snapshot)
    // A query that is wrong is found before the first row lands.
    const checked = []
    for (const name of names) checked.push(await checkStream(deps, snapshot, name, lookups.get(name)))
    const judge = await loadJudge(deps)
    const open = checked.filter(({ name }) => !done.some(({ stream }) => stream === name))
    await landReadingAhead(snapshot, open, ahead, (stream, own) =>
      stream.cursor === null
        ? extractSnapshot(deps, run, own, stream, judge)
        : extractDelta(deps, run, own, { ...stream, aheadMs }, judge),
    )
    const byCursor = checked.filter(({ cursor }) => cursor !== null)
    await rereadContradicted(deps, run, snapshot, byCursor, judge)
    await analyzeLedger(db)
  } finally {
    await snapshot.close()
  }
}

async function checkStream(
  { config, contract }: Deps,
  snapshot: PartnerSnapshot,
  name: string,
  columnLookups: ColumnLookups = new Map(),
) {
  const stream = config.streams[name]
  if (stream === undefined) throw new Error(`the stream ${name} is not configured`)
  const shape = shapeOf(contract, name)
  const query: StreamQuery = {
    stream: name,
    query: stream.query,
    columns: shape.columns,
    fetchRows: config.partner.fetchRows,
  }
  const cursor = stream.capture === 'snapshot' ? null : (stream.cursor ?? null)
  const protection = await snapshot.check({ ...query, cursor })
  const queryDigest = queryDigestOf(contract, name, stream.query)
  const lookups = lookupsRead(columnLookups)
  const common = { name, shape, query, queryDigest, lookups, protection, fullEveryMs: fullEveryMs(stream.fullEvery) }
  if (cursor === null) return { ...common, cursor, cursorType: null }
  return { ...common, cursor, cursorType: await snapshot.cursorType({ ...query, cursor }) }
}

/**
 * Reads a stream from its watermark on, or whole where the watermark does not say enough; what is gone at the partner
 * gets its tombstone then, unless the query yields only what changed lately (`fullEvery: never`): of such a stream only
 * rows of which nothing was ever sent do, when a person wants it reread. Rows, counts and the new watermark are one
 * transaction.
 */
async function extractDelta(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  stream: CursorStream & { aheadMs: number },
  judge: Judge,
): Promise<void> {
  const { name, shape, query, queryDigest, lookups, cursor, cursorType, protection, fullEveryMs } = stream
  const { server, lacks } = snapshot
  const { counts, whole } = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      const reading = await lockReading(trx, name)
      const before = await watermarkOf(trx, name)
      const clockLostMs = protection === 'none' ? 0 : lostMs(before?.partner_ahead_ms ?? null, stream.aheadMs)
      const lost = readsWhole(clockLostMs, deps.config.partner.overlapMs) ? clockLostMs : null
      const now = { cursor, cursorType, server, queryDigest, lookups, fullEveryMs, clockLostMs: lost }
      const due = whyWhole(reading, before, now)
      // Where the query yields only what changed lately, a row that does not come may be there all the same.
      const yieldsAll = fullEveryMs !== null
      let read: ReadDelta = { seen: nothingSeen(), whole: due, partial: [] }
      let held = false
      const guard = async (would: WouldChange) => {
        const empty = async () => yieldsAll && read.seen.rows === 0 && !(await snapshot.hasRows(query))
        held = await guardStream(deps, trx, run.run_id, name, would, empty)
        return held
      }
      const land = async (): Promise<LandedCounts> => {
        read = await stageDelta({ deps, run, client, trx, snapshot, stream, judge, before, clockLostMs }, due)
        const complete = read.whole !== null && yieldsAll
        // Only a person can say that what such a query does not yield is not there.
        const letsGo = !yieldsAll && reading.whole_wanted === 'reread'
        if (complete) await findMissing(trx, name, true)
        if (letsGo) await findMissingUnsent(trx, name)
        return await landRows(trx, {
          runId: run.run_id,
          stream: name,
          foldedKey: shape.parts?.key,
          judgedBy: judge.basis,
          completeRows: complete ? 'all' : read.partial.length > 0 ? 'returning' : 'none',
          lookups: Object.keys(lookups).length > 0,
          missing: complete || letsGo,
          yieldsAll,
          guard,
        })
      }
      const direct = due !== null && (await isNewStream(trx, name)) && !(await guard(noChange))
      const first = direct ? await landFirst({ deps, run, client, trx, snapshot, stream, judge }) : null
      if (first !== null) read = { ...read, seen: first.seen }
      const landed = first?.counts ?? (await land())
      const { seen, whole } = read
      await noteNullCursors(trx, name, seen.nullCursors > 0)
      await forgetSnapshot(trx, name)
      const why = whole?.reason ?? null
      const complete = why !== null && yieldsAll
      const asked = { stream: name, capture: 'cursor', server, queryDigest, lookups } as const
      await noteReading(trx, { ...asked, whole: why, complete, held })
      const met = { ...seen, openMs: snapshot.openMs, isWhole: whole !== null }
      const watermark = await moveWatermark(trx, run, stream, before, met)
      // Counted at the partner's end: the report compares it with what landed.
      const counts = { ...landed, folded: landed.folded + seen.folded, read: seen.rows, null_cursor: seen.nullCursors }
      await trx
        .insertInto('run_stream')
        .values({
          run_id: run.run_id,
          stream: name,
          ...counts,
          capture: 'cursor',
          protection,
          lacks: protection === 'overlap' ? lacks : null,
          whole: why,
          whole_detail: whole?.detail ?? null,
          pending: null,
          watermark_before: before?.watermark ?? null,
          watermark_after: watermark,
        })
        .execute()
      return { counts, whole }
    }),
  )
  deps.logger.info({ run_id: run.run_id, stream: name, ...counts }, 'stream_extracted')
  logWhole(deps, run, name, whole)
  if (counts.null_cursor > 0) {
    deps.logger.warn({ run_id: run.run_id, stream: name, rows: counts.null_cursor }, 'rows_without_cursor')
  }
}

/** A partner's past or clock that changed is a warning; all other reasons to read everything are ours. */
const toWarnOf: ReadonlySet<WholeReason> = new Set(['server', 'clock', 'newest_row'])

function logWhole(deps: Deps, run: Run, stream: string, whole: Whole | null): void {
  if (whole === null) return
  const facts = { run_id: run.run_id, stream, ...whole }
  if (toWarnOf.has(whole.reason)) deps.logger.warn(facts, 'stream_read_whole')
  else deps.logger.info(facts, 'stream_read_whole')
}

/**
 * Moves the watermark to the newest cursor that was seen, forwards or, after a restore, back. Where all rows were
 * read and none has a cursor, none is left: what comes then may have any cursor, and is read whole.
 */
async function moveWatermark(
  trx: Transaction<Schema>,
  run: Run,
  { name, cursor, cursorType, protection, fullEveryMs, aheadMs }: CursorStream & { aheadMs: number },
  before: StreamWatermark | null,
  seen: Seen & { openMs: number; isWhole: boolean },
): Promise<string | null> {
  const { newestCursor: newest, newestItself: itself, newestReached: reached, isWhole } = seen
  const openMs = protection === 'transactions' ? seen.openMs : 0
  const known = isWhole ? null : (before?.watermark ?? null)
  const watermark =
    newest === null
      ? null
      : beforeOpen({ newest, itself: itself ?? newest, reached, cursorType, openMs, before: known })
  // What a query of changes does not yield is there all the same. The watermark of another column says nothing.
  if (watermark === null) {
    const noneLeft = isWhole && fullEveryMs !== null
    if (!noneLeft && (before?.cursor == null || before.cursor === cursor)) return before?.watermark ?? null
    await trx.deleteFrom('stream_watermark').where('stream', '=', name).execute()
    return null
  }
  const values = {
    watermark,
    cursor,
    cursor_type: cursorType,
    witness: seen.newestKey,
    run_id: run.run_id,
    partner_ahead_ms: aheadMs,
  }
  await trx
    .insertInto('stream_watermark')
    .values({ stream: name, ...values })
    .onConflict((conflict) =>
      conflict.column('stream').doUpdateSet({ ...values, moved_at: sql<Date>`clock_timestamp()` }),
    )
    .execute()
  return watermark
}

/** Grown by more than this since they were last looked at, tables are not what the planner believes. */
const grownBy = 1.5

/**
 * Tells the planner of what has landed, where much has. The server would find out by itself, minutes later, and until
 * then the planner takes it that hardly any row is still at the partner: it reads all of the ledger for every property.
 * Contents are left out: they are long, and no plan depends on them.
 */
async function analyzeLedger(db: Database): Promise<void> {
  const { rows } = await sql<{ grown: boolean }>`
    select pg_relation_size(oid) / current_setting('block_size')::integer > ${grownBy}::numeric * relpages as grown
    from pg_class where oid = 'source_row'::regclass`.execute(db)
  if (rows[0]?.grown !== true) return
  // Side by side: each takes one processor of the server. The last is empty where no stream is read by snapshot.
  await Promise.all([
    sql`
      analyze (skip_locked) source_row
        (row_id, stream, partner_id, row_key, gone_at, guard_run, contradiction)`.execute(db),
    sql`analyze (skip_locked) acceptance`.execute(db),
    sql`analyze (skip_locked) snapshot_line (stream, bucket, high, low)`.execute(db),
  ])
}
