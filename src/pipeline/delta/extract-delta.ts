import { withSession } from '../../db/database.ts'
import { landRows } from '../../db/landing/land-rows.ts'
import { noteNullCursors } from '../../db/landing/null-cursors.ts'
import { forgetSnapshot } from '../../db/landing/snapshot-lines.ts'
import { createStage, stagedLine, stageRows } from '../../db/landing/stage-rows.ts'
import type { DeltaRows, PartnerSnapshot, StreamQuery } from '../../db/partner/dialect.ts'
import type { CursorProtection, Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { guardStream } from './guard-stream.ts'
import type { Judge, JudgeRow } from './judge-row.ts'
import { landingOf } from './landing-row.ts'
import type { StreamShape } from './stream-rows.ts'

export type CursorStream = {
  name: string
  shape: StreamShape
  query: StreamQuery
  cursor: string
  protection: CursorProtection | null
}

/** Reads a stream from its watermark on. Rows, counts and the new watermark are one transaction. */
export async function extractDelta(
  deps: Deps,
  run: Run,
  snapshot: PartnerSnapshot,
  { name, shape, query, cursor, protection }: CursorStream,
  judge: Judge,
): Promise<void> {
  const counts = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      const before = await trx
        .selectFrom('stream_watermark')
        .select('watermark')
        .where('stream', '=', name)
        .executeTakeFirst()
      const { overlapMs } = deps.config.partner
      const delta = { ...query, cursor, from: before?.watermark ?? null, overlapMs }
      const seen: Seen = { rows: 0, newestCursor: null, nullCursors: 0 }
      await createStage(trx)
      await stageRows(client, stagedLines(shape, snapshot.delta(delta), seen, judge.of(name)))
      const landed = await landRows(trx, {
        runId: run.run_id,
        stream: name,
        foldedKey: shape.foldedKey,
        judgedBy: judge.basis,
        guard: (would) =>
          guardStream(
            deps,
            trx,
            run.run_id,
            name,
            would,
            async () => seen.rows === 0 && !(await snapshot.hasRows(query)),
          ),
      })
      await noteNullCursors(trx, name, seen.nullCursors > 0)
      await forgetSnapshot(trx, name)
      const watermark = seen.newestCursor ?? before?.watermark ?? null
      if (watermark !== null) {
        await trx
          .insertInto('stream_watermark')
          .values({ stream: name, watermark, run_id: run.run_id })
          .onConflict((conflict) =>
            conflict.column('stream').doUpdateSet({ watermark, run_id: run.run_id, moved_at: deps.now() }),
          )
          .execute()
      }
      // Counted at the partner's end: the report compares it with what landed.
      const counts = { ...landed, read: seen.rows, null_cursor: seen.nullCursors }
      await trx
        .insertInto('run_stream')
        .values({
          run_id: run.run_id,
          stream: name,
          ...counts,
          capture: 'cursor',
          protection,
          pending: null,
          watermark_before: before?.watermark ?? null,
          watermark_after: watermark,
        })
        .execute()
      return counts
    }),
  )
  deps.logger.info({ run_id: run.run_id, stream: name, ...counts }, 'stream_extracted')
  if (counts.null_cursor > 0) {
    deps.logger.warn({ run_id: run.run_id, stream: name, rows: counts.null_cursor }, 'rows_without_cursor')
  }
}

type Seen = { rows: number; newestCursor: string | null; nullCursors: number }

/** Notes the newest cursor on the way, which the order of the delta makes the last one. Rows with equal cursors share an ordinal. */
async function* stagedLines(
  shape: StreamShape,
  batches: DeltaRows,
  seen: Seen,
  judge: JudgeRow,
): AsyncGenerator<string> {
  const { columns } = shape
  let ordinal = 0
  let before: string | null = null
  for await (const batch of batches) {
    let lines = ''
    for (const values of batch) {
      seen.rows += 1
      const cursor = values[columns.length] ?? null
      if (cursor === null) seen.nullCursors += 1
      else seen.newestCursor = cursor
      const at = values[columns.length + 1] ?? cursor
      if (at !== before) ordinal += 1
      before = at
      const row = landingOf(shape, values)
      lines += stagedLine({ ...row, ordinal, reason: judge(row), withoutCursor: cursor === null })
    }
    yield lines
  }
}
