import { withSession } from '../../db/database.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { PartnerSnapshot, StreamQuery } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import { findContradictions } from '../preflight/find-contradictions.ts'
import type { Judge } from '../preflight/judge-row.ts'
import { maxPartnerIdLength } from '../streams/row-key.ts'
import type { StreamShape } from '../streams/stream.ts'
import { guardStream } from './guard-stream.ts'
import { addToStream, contradictedHotels, findMissingOf, noteAsked } from './landing/contradicted-hotels.ts'
import { landRows } from './landing/land-rows.ts'
import { createStage, stageRows } from './landing/stage-rows.ts'
import { nothingSeen, stagedLines } from './staged-lines.ts'

type CursorStreamToAsk = { name: string; shape: StreamShape; query: StreamQuery; cursor: string | null }

/** Hotels that one query asks for: a statement of some 10 kB. */
const hotelsAtOnce = 200
/** Hotels of a stream that one run asks for; more wait for the next, or for the next full comparison. */
const hotelsAtMost = 5_000

/**
 * Reads all rows of the hotels whose rows contradict each other, from the snapshot that the run has read everything
 * from. A cursor shows what is new and not what is gone: a row that contradicts an old one may be all that the partner
 * has. What it has no longer gets its tombstone, through the guard, and preflight judges the others again in the same
 * run.
 *
 * Streams that this run has read whole are left out: what the ledger has of them is what the partner has. So is
 * everything while the guard holds the run, which sends nothing.
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
  const read = await db
    .selectFrom('run_stream')
    .select('stream')
    .where('run_id', '=', run.run_id)
    .where('whole', 'is', null)
    .execute()
  const open = streams.filter(({ name }) => read.some(({ stream }) => stream === name))
  if (open.length === 0) return
  await db.transaction().execute((trx) => findContradictions(trx, judge.basis, run.started_at))
  for (const stream of open) {
    const hotels = await contradictedHotels(db, [stream.name], maxPartnerIdLength, hotelsAtMost)
    if (hotels.length === 0) continue
    const ids = hotels.map(({ partner_id }) => partner_id)
    if (await readHotels(deps, run, snapshot, stream, judge, ids)) return
  }
}

/** @returns whether the guard holds what came of it. */
async function readHotels(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  { name, shape, query, cursor }: CursorStreamToAsk,
  judge: Judge,
  partnerIds: readonly string[],
): Promise<boolean> {
  if (cursor === null) return false
  const outcome = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      await createStage(trx)
      const seen = nothingSeen()
      for (let at = 0; at < partnerIds.length; at += hotelsAtOnce) {
        const some = partnerIds.slice(at, at + hotelsAtOnce)
        const only = { column: shape.idColumn, partnerIds: some }
        const rows = snapshot.delta({ ...query, cursor, from: null, overlapMs: 0, only })
        const staging = { shape, judge: judge.of(name), seen, only: new Set(some) }
        await stageRows(client, stagedLines(rows, staging))
      }
      await findMissingOf(trx, name, partnerIds)
      let held = false
      const landed = await landRows(trx, {
        runId: run.run_id,
        stream: name,
        foldedKey: shape.parts?.key,
        judgedBy: judge.basis,
        completeRows: 'all',
        missing: true,
        guard: async (would) => {
          const empty = async () => seen.rows === 0 && !(await snapshot.hasRows(query))
          held = await guardStream(deps, trx, run.run_id, name, would, empty)
          return held
        },
      })
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
