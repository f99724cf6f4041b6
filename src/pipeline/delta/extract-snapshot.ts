import { withSession } from '../../db/database.ts'
import { landRows } from '../../db/landing/land-rows.ts'
import { noteNullCursors } from '../../db/landing/null-cursors.ts'
import {
  copySnapshot,
  findDifferences,
  findMissing,
  foldedBefore,
  keepSnapshot,
  neededLines,
  type SnapshotLine,
} from '../../db/landing/snapshot-lines.ts'
import { createStage, stagedLine, stageRows } from '../../db/landing/stage-rows.ts'
import { valuesOf } from '../../db/partner/copy-text.ts'
import type { PartnerSnapshot, StreamQuery } from '../../db/partner/dialect.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { guardStream } from './guard-stream.ts'
import { landingOf } from './landing-row.ts'
import type { StreamShape } from './stream-rows.ts'

/**
 * Reads all rows of a stream and compares them with its last snapshot inside Postgres. The lines pass through here as
 * bytes; only those that differ are read as rows. What is gone at the partner gets its tombstone.
 */
export async function extractSnapshot(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  { name, shape, query }: { name: string; shape: StreamShape; query: StreamQuery },
): Promise<void> {
  const counts = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      const read = await copySnapshot(client, trx, name, snapshot.lines(query))
      await createStage(trx)
      const differs = read.differs || read.first
      if (differs) {
        await findDifferences(trx, name)
        for await (const lines of neededLines(trx, query.fetchRows)) await stageRows(client, stagedLines(shape, lines))
        await findMissing(trx, name, read.first)
      }
      const landed = await landRows(trx, {
        runId: run.run_id,
        stream: name,
        foldedKey: shape.foldedKey,
        completeRows: differs ? (read.first ? 'all' : 'some') : 'none',
        missing: differs,
        guard: (would) => guardStream(deps, trx, run.run_id, name, would, async () => read.lines === 0),
      })
      const folded = differs ? await keepSnapshot(trx, name, run.run_id) : await foldedBefore(trx, name)
      // With a later change of mind a cursor begins anew: what it knew of this stream is older than the ledger.
      await trx.deleteFrom('stream_watermark').where('stream', '=', name).execute()
      await noteNullCursors(trx, name)
      const counts = { ...landed, read: read.lines, folded, unchanged: read.lines - folded - landed.changed }
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
          watermark_before: null,
          watermark_after: null,
        })
        .execute()
      return counts
    }),
  )
  deps.logger.info({ run_id: run.run_id, stream: name, ...counts }, 'stream_extracted')
}

/** Without a cursor nothing says which of two rows with one key is newer; their hashes decide, every night alike. */
function stagedLines(shape: StreamShape, lines: readonly SnapshotLine[]): string[] {
  return lines.map(({ line, high, low }) =>
    stagedLine({ ...landingOf(shape, valuesOf(line)), ordinal: high, line: { high, low } }),
  )
}
