import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { type Database, withSession } from '../../db/database.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { DeltaQuery, PartnerSnapshot } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import { findContradictions } from '../preflight/find-contradictions.ts'
import { contradictionKinds } from '../preflight/judgements.ts'
import type { Judge, JudgeRow } from '../preflight/preflight.ts'
import { type CursorStream, carriedStreams } from '../streams/our-streams.ts'
import { maxPartnerIdLength } from '../streams/rules/row-content.ts'
import { guardStream } from './guard-stream.ts'
import { landRows } from './landing/land-rows.ts'
import { createStage, stageRows } from './landing/stage-rows.ts'
import { wantHeldAgain } from './landing/stream-reading.ts'
import { nothingSeen, type Seen, stagedLines } from './staged-lines.ts'

/** Hotels that one query asks for: a statement of some 10 kB. */
const hotelsAtOnce = 200
/** So many hotels are asked for. Some servers find none of them by an index: then each query reads the whole stream. */
const hotelsByName = 1_000
/** Hotels of a stream that one run asks for. */
export const hotelsAtMost = 5_000

type CursorStreamToAsk = Pick<CursorStream, 'name' | 'shape' | 'query' | 'lookups' | 'fullEveryMs'> & {
  cursor: string | null
}

/**
 * Reads all rows of the hotels whose rows contradict each other, from the snapshot that the run has read everything
 * from. A cursor shows what is new and not what is gone: a row that contradicts an old one may be all that the partner
 * has. What it has no longer gets its tombstone, through the guard, and preflight judges the others again in the same
 * run.
 *
 * Streams that this run has read whole are left out: what the ledger has of them is what the partner has. So is
 * everything while the guard holds the run, which sends nothing.
 *
 * Where a query yields only what changed lately (`fullEvery: never`), a row is gone only if it is not yielded and
 * contradicts one of its own hotel that this run brought, and that no run before had. All others stay: of two that
 * earlier runs brought nobody knows which came last, for a row that comes again unchanged leaves no trace.
 */
export async function rereadContradicted(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  streams: readonly CursorStreamToAsk[],
  judge: Judge,
): Promise<void> {
  const { db } = deps
  const { held } = await db.selectFrom('run').select('held').where('run_id', '=', run.run_id).executeTakeFirstOrThrow()
  if (held) return
  const read = await db.selectFrom('run_stream').select(['stream', 'whole']).where('run_id', '=', run.run_id).execute()
  const open = streams.filter(({ name, fullEveryMs }) =>
    read.some(({ stream, whole }) => stream === name && (whole === null || fullEveryMs === null)),
  )
  if (open.length === 0) return
  const carried = carriedStreams(deps.contract, deps.config)
  await db.transaction().execute((trx) => findContradictions(trx, judge.basis, run.started_at, carried))
  for (const stream of open) {
    // More wait for the next run, or for the next full comparison.
    const hotels = await contradictedHotels(db, run.run_id, stream.name)
    if (hotels.length === 0) continue
    if (await readHotels(deps, run, snapshot, stream, judge, hotels)) return
  }
}

/** @returns whether the guard holds what came of it. */
async function readHotels(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  { name, shape, query, lookups, cursor, fullEveryMs }: CursorStreamToAsk,
  judge: Judge,
  partnerIds: readonly string[],
): Promise<boolean> {
  if (cursor === null) return false
  const yieldsAll = fullEveryMs !== null
  const outcome = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      await createStage(trx)
      const stream = { shape, query, cursor }
      const seen = await stageHotels({ client, snapshot, stream, judge: judge.of(name) }, partnerIds)
      await findMissingOf(trx, name, partnerIds, yieldsAll ? sql`true` : supersededBy(run))
      let held = false
      const landed = await landRows(trx, {
        runId: run.run_id,
        stream: name,
        foldedKey: shape.parts?.key,
        judgedBy: judge.basis,
        completeRows: yieldsAll ? 'all' : 'none',
        lookups: Object.keys(lookups).length > 0,
        missing: true,
        yieldsAll,
        guard: async (would) => {
          const empty = async () => yieldsAll && seen.rows === 0 && !(await snapshot.hasRows(query))
          held = await guardStream(deps, trx, run.run_id, name, would, empty)
          return held
        },
      })
      if (held) await wantHeldAgain(trx, name)
      await noteAsked(trx, name, partnerIds)
      await addToStream(trx, run.run_id, name, partnerIds.length, landed)
      return { counts: { ...landed, read: seen.rows }, held }
    }),
  )
  deps.logger.info(
    { run_id: run.run_id, stream: name, hotels: partnerIds.length, ...outcome.counts },
    'contradicted_hotels_read',
  )
  return outcome.held
}

/**
 * Hotels of a stream whose rows contradict each other or rows of another hotel, as preflight noted it; and those with
 * a row for which the partner yielded two contents. Those whose rows were longest not asked for come first; where
 * nobody notes when that was, others each night. Partner ids that are not stored as the partner has them are left out,
 * because nobody can ask for them.
 */
async function contradictedHotels(db: Database, runId: number, stream: string): Promise<string[]> {
  const { rows } = await sql<{ partner_id: string }>`
    with side as (
      select row_id, asked_at from row_finding where kind in (${contradictionKinds})
      union all
      select other_row_id, asked_at from row_finding where kind in (${contradictionKinds})
    )
    select partner_id
    from (
      select stream, partner_id, asked_at
      from side join source_row using (row_id)
      where gone_at is null
      union all
      select stream, partner_id, null
      from source_row
      where contradiction is not null and gone_at is null
    ) hotel
    where stream = ${stream} and length(partner_id) <= ${maxPartnerIdLength}
    group by partner_id
    order by min(asked_at) nulls first, hashtextextended(partner_id, ${runId}), partner_id
    limit ${hotelsAtMost}`.execute(db)
  return rows.map(({ partner_id }) => partner_id)
}

/** Notes that the partner was asked for all rows of hotels, so that others come first in the next run. */
async function noteAsked(trx: Transaction<Schema>, stream: string, partnerIds: readonly string[]): Promise<void> {
  await sql`
    with asked as (
      select row_id from source_row where stream = ${stream} and partner_id = any(${partnerIds}::text[])
    )
    update row_finding set asked_at = clock_timestamp()
    where kind in (${contradictionKinds})
      and (row_id in (select row_id from asked) or other_row_id in (select row_id from asked))`.execute(trx)
}

/** Whether a row of `source_row` contradicts one of its own hotel that the run brought, and no run before. */
const supersededBy = ({ started_at }: Run) => sql`row_id in (
  select side.row_id
  from (
    select row_id, other_row_id from row_finding where kind in (${contradictionKinds})
    union all
    select other_row_id, row_id from row_finding where kind in (${contradictionKinds})
  ) side (row_id, other_row_id)
  join source_row mine on mine.row_id = side.row_id
  join source_row brought on brought.row_id = side.other_row_id
  where brought.partner_id = mine.partner_id
    and brought.changed_at >= ${started_at} and mine.changed_at < ${started_at}
)`

/**
 * Ledger rows of hotels of which all rows are staged, that are not among these: the table `missing_row`.
 * @param which says of a row of `source_row` whether it can be missing.
 */
async function findMissingOf(
  trx: Transaction<Schema>,
  stream: string,
  partnerIds: readonly string[],
  which: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    create temp table missing_row on commit drop as
    select row_id from source_row
    where stream = ${stream} and partner_id = any(${partnerIds}::text[]) and gone_at is null and ${which}
      and not exists (select from staged where staged.row_key = source_row.row_key)`.execute(trx)
}

/**
 * Adds what hotels that were asked for brought to light to what the run read of the stream. Rows that were read once
 * more and say the same are not counted a second time.
 */
async function addToStream(
  trx: Transaction<Schema>,
  runId: number,
  stream: string,
  hotels: number,
  { changed, gone, returned }: { changed: number; gone: number; returned: number },
): Promise<void> {
  await sql`
    update run_stream
    set hotels_asked = hotels_asked + ${hotels}, read = read + ${changed}, changed = changed + ${changed},
        gone = gone + ${gone}, returned = returned + ${returned}
    where run_id = ${runId} and stream = ${stream}`.execute(trx)
}

type HotelReading = {
  client: PoolClient
  snapshot: PartnerSnapshot
  stream: Pick<CursorStream, 'shape' | 'query' | 'cursor'>
  judge: JudgeRow
}

/**
 * Stages all rows of hotels, wherever their cursors stand, from the snapshot that the run reads everything from. Of
 * many hotels the stream is read once, and the others are left out.
 */
export async function stageHotels(
  { client, snapshot, stream, judge }: HotelReading,
  partnerIds: readonly string[],
): Promise<Seen> {
  const { shape, query, cursor } = stream
  const seen = nothingSeen()
  const stage = async (some: readonly string[], which: Pick<DeltaQuery, 'only'>) => {
    const rows = snapshot.delta({ ...query, cursor, from: null, overlapMs: 0, ...which })
    await stageRows(client, stagedLines(rows, { shape, judge, seen, only: new Set(some) }))
  }
  if (partnerIds.length > hotelsByName) await stage(partnerIds, {})
  else {
    for (let at = 0; at < partnerIds.length; at += hotelsAtOnce) {
      const some = partnerIds.slice(at, at + hotelsAtOnce)
      await stage(some, { only: { column: shape.idColumn, partnerIds: some } })
    }
  }
  return seen
}

/**
 * Hotels of staged rows that were gone: a delta brings what changed of them, and that may not be all there is. Of one
 * that contradicts itself it brings both sides, or neither, and then the contradiction stays.
 *
 * @returns one more than may be asked for where there are more. Partner ids that are not stored as the partner has them
 *   are left out, because nobody can ask for them.
 */
export async function partialHotels(trx: Transaction<Schema>, stream: string): Promise<string[]> {
  await sql`analyze staged (row_key)`.execute(trx)
  const { rows } = await sql<{ partner_id: string }>`
    select distinct staged.partner_id
    from staged join source_row held on held.stream = ${stream} and held.row_key = staged.row_key
    where held.gone_at is not null and length(staged.partner_id) <= ${maxPartnerIdLength}
    limit ${hotelsAtMost + 1}`.execute(trx)
  return rows.map(({ partner_id }) => partner_id)
}

/**
 * Stages all rows of hotels in the place of those that a delta brought of them.
 * @param seen what was seen of the delta: the rows that come once more are added to it.
 */
export async function stageHotelsAnew(
  trx: Transaction<Schema>,
  reading: HotelReading,
  partnerIds: readonly string[],
  seen: Seen,
): Promise<void> {
  const { numAffectedRows = 0n } = await sql`
    delete from staged where partner_id = any(${partnerIds}::text[])`.execute(trx)
  const again = await stageHotels(reading, partnerIds)
  seen.rows += again.rows
  // What was staged of them before shares its ledger rows with what comes now.
  seen.folded += again.folded + Number(numAffectedRows)
}
