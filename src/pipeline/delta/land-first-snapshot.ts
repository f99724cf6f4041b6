import type { Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { valuesOf } from '../../db/copy-text.ts'
import type { Schema } from '../../db/tables/database-schema.ts'
import type { Run } from '../../db/tables/run-tables.ts'
import type { DeltaRows, PartnerSnapshot, StreamQuery } from '../../partner/dialect.ts'
import type { Deps } from '../deps.ts'
import type { Judge } from '../preflight/judge-row.ts'
import type { StreamShape } from '../streams/stream.ts'
import { noteStaged } from './land-first.ts'
import { createKeptLines, hashesAlike, keepWrittenSnapshot } from './landing/kept-snapshot.ts'
import { landDirectly, type NeedsCare } from './landing/land-directly.ts'
import type { LandedCounts } from './landing/land-rows.ts'
import { LineSums } from './landing/line-sums.ts'
import { PassedHashes } from './landing/passed-hashes.ts'
import { wholeLines } from './landing/whole-lines.ts'
import { directRows, nothingSeen } from './staged-lines.ts'

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
  const stage = (why: NeedsCare) => {
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
