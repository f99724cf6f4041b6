import type { Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { valuesOf } from '../../db/copy-text.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import {
  type AllRows,
  allInOrder,
  type DeltaRows,
  type PartnerSnapshot,
  type StreamQuery,
} from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import type { Judge } from '../preflight/preflight.ts'
import type { CursorStream } from '../streams/our-streams.ts'
import type { StreamShape } from '../streams/stream.ts'
import { createKeptLines, hashesAlike, keepWrittenSnapshot } from './landing/kept-snapshot.ts'
import { landDirectly, type WhyStaged } from './landing/land-directly.ts'
import type { LandedCounts } from './landing/land-rows.ts'
import { LineSums, PassedHashes } from './landing/line-sums.ts'
import { wholeLines } from './landing/snapshot-lines.ts'
import { directRows, landingOf, nothingSeen, type Seen } from './staged-lines.ts'

type FirstLanding = {
  deps: Deps
  run: Run
  client: PoolClient
  trx: Transaction<Schema>
  snapshot: PartnerSnapshot
  stream: CursorStream
  judge: Judge
}

/**
 * Reads a stream of which the ledger has nothing yet, and writes its rows as they come, with hash and verdict. The
 * guard holds no first rows, so nothing has to be counted before.
 *
 * The partner's server yields them in the order that costs it least. Parts of one ledger row may lie apart then; stored
 * together, they have cursors that lie together, so that order is tried next.
 *
 * @returns null where rows have to be staged after all: nothing was written then.
 */
export async function landFirst(landing: FirstLanding): Promise<{ counts: LandedCounts; seen: Seen } | null> {
  const { deps, run, snapshot, stream } = landing
  const { name, shape, query, cursor } = stream
  const folds = shape.parts !== undefined
  const all = snapshot.all({ ...query, cursor })
  let seen = nothingSeen()
  let written = await write(landing, all, seen)
  if (written === 'repeated_key' && folds && !all.inOrder) {
    deps.logger.debug({ run_id: run.run_id, stream: name }, 'stream_sorted')
    seen = nothingSeen()
    written = await write(landing, allInOrder(snapshot, { ...query, cursor }), seen)
  }
  if (typeof written === 'string') {
    noteStaged(deps, run.run_id, name, written)
    return null
  }
  return { counts: { folded: 0, unchanged: 0, changed: written, gone: 0, returned: 0 }, seen }
}

async function write(
  { client, trx, judge, stream }: FirstLanding,
  all: AllRows,
  seen: Seen,
): Promise<number | WhyStaged> {
  const { name, shape } = stream
  const rows = directRows(all.rows, { shape, judge: judge.of(name), seen, inAnyOrder: !all.inOrder })
  const written = await landDirectly(client, trx, { stream: name, judgedBy: judge.basis }, rows)
  // Also if the rows have to be read again: a failure of this question would be told of the next.
  const newest = await all.newest()
  if (newest !== null) {
    const { row, reached } = newest
    seen.newestCursor = row[shape.columns.length] ?? null
    seen.newestItself = row[shape.columns.length + 1] ?? seen.newestCursor
    seen.newestKey = landingOf(shape, row).rowKey
    seen.newestReached = reached
  }
  return written
}

/** Says why rows are staged after all. */
function noteStaged({ logger }: Deps, runId: number, stream: string, why: WhyStaged): void {
  const facts = { run_id: runId, stream, why }
  // Rows that are alike, or have no cursor, are the partner's. A server that writes contents otherwise is news to us.
  if (why === 'hash_differs') logger.warn(facts, 'stream_staged')
  else logger.debug(facts, 'stream_staged')
}

type FirstSnapshot = {
  deps: Deps
  run: Run
  client: PoolClient
  trx: Transaction<Schema>
  snapshot: PartnerSnapshot
  stream: { name: string; shape: StreamShape; query: StreamQuery }
  judge: Judge
}

/** Rows that are worked on at a time: few enough to be gone from memory with the young garbage. */
const rowsAtOnce = 200

type LandedSnapshot = { counts: LandedCounts; lines: number; folded: number }

/**
 * Reads the first snapshot of a stream of which the ledger has nothing yet, and writes its rows as they come, with hash
 * and verdict; their lines, by the hashes that are taken on the way, are kept for the next snapshot. The guard holds no
 * first rows, so nothing has to be counted before.
 *
 * @returns null where rows have to be staged after all: nothing was written then.
 */
export async function landFirstSnapshot(landing: FirstSnapshot): Promise<LandedSnapshot | null> {
  const { deps, run, client, trx, snapshot, judge } = landing
  const { name, shape, query } = landing.stream
  const stage = (why: WhyStaged) => {
    noteStaged(deps, run.run_id, name, why)
    return null
  }
  if (!(await hashesAlike(trx))) return stage('hash_differs')
  await createKeptLines(trx)
  const sums = new LineSums()
  const hashes = new PassedHashes()
  async function* values(): DeltaRows {
    for await (const lines of wholeLines(snapshot.lines(query))) {
      const texts = lines.toString().split('\n')
      sums.add(lines, hashes.room(texts.length))
      for (let from = 0; from < texts.length; from += rowsAtOnce) {
        yield texts.slice(from, from + rowsAtOnce).map(valuesOf)
      }
    }
  }
  const walk = { shape, judge: judge.of(name), seen: nothingSeen(), inAnyOrder: true, withoutCursor: true }
  const written = await landDirectly(
    client,
    trx,
    { stream: name, judgedBy: judge.basis, hashes },
    directRows(values(), walk),
  )
  if (typeof written === 'string') return stage(written)
  // Each line is a row of the ledger or a further part of one, for no two rows had one key.
  const folded = sums.lines - written
  await keepWrittenSnapshot(client, trx, { stream: name, runId: run.run_id, sums, folded })
  return { counts: { folded, unchanged: 0, changed: written, gone: 0, returned: 0 }, lines: sums.lines, folded }
}
