import { createHash } from 'node:crypto'
import { type StreamName, streamNames } from '../../config/schema.ts'
import { withSession } from '../../db/database.ts'
import { type LandedCounts, landRows } from '../../db/ledger/land-rows.ts'
import {
  type DeltaQuery,
  type DeltaRows,
  openPartnerSnapshot,
  type PartnerSnapshot,
} from '../../db/partner/partner-snapshot.ts'
import type { Run } from '../../db/tables/run.ts'
import type { Deps } from '../deps.ts'
import { type LandingRow, maxPartnerIdLength, type PartnerRow, streamShapes } from './stream-rows.ts'

/**
 * Reads what changed in the partner's database into the ledger. Every stream is read through one snapshot, and
 * lands in the transaction that moves its watermark; a stream that this run has read already is left alone.
 *
 * @throws {PartnerDatabaseError} when the partner's database cannot be reached or a query of the configuration fails.
 */
export async function extract(deps: Deps, run: Run): Promise<void> {
  const { config, required, db } = deps
  const done = await db.selectFrom('run_stream').select('stream').where('run_id', '=', run.run_id).execute()
  const streams = streamNames.filter((name) => config.streams[name] && !done.some(({ stream }) => stream === name))
  if (streams.length === 0) return

  const snapshot = await openPartnerSnapshot({
    url: required.partnerUrl,
    statementTimeoutMs: config.partner.statementTimeoutMs,
  })
  try {
    // A query that is wrong is found before the first row lands.
    for (const name of streams) await snapshot.check(deltaOf(deps, name, null))
    for (const name of streams) await extractStream(deps, run, snapshot, name)
  } finally {
    await snapshot.close()
  }
}

function deltaOf({ config }: Deps, name: StreamName, from: string | null): DeltaQuery {
  const stream = config.streams[name]
  if (stream === undefined) throw new Error(`the stream ${name} is not configured`)
  return {
    stream: name,
    query: stream.query,
    columns: streamShapes[name].columns,
    cursor: stream.cursor,
    from,
    overlapMs: config.partner.overlapMs,
    fetchRows: config.partner.fetchRows,
  }
}

async function extractStream(deps: Deps, run: Run, snapshot: PartnerSnapshot, name: StreamName): Promise<void> {
  const counts = await withSession(deps.pool, ({ client, db }) =>
    db.transaction().execute(async (trx) => {
      const before = await trx
        .selectFrom('stream_watermark')
        .select('watermark')
        .where('stream', '=', name)
        .executeTakeFirst()
      const seen: Seen = { rows: 0, newestCursor: null, nullCursors: 0 }
      const rows = snapshot.read(deltaOf(deps, name, before?.watermark ?? null))
      const landed = await landRows(client, trx, name, csvLines(name, rows, seen), streamShapes[name].foldedKey)
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
      await trx
        .insertInto('run_stream')
        .values({
          run_id: run.run_id,
          stream: name,
          ...landed,
          // Counted at the partner's end: the report compares it with what landed.
          read: seen.rows,
          null_cursor: seen.nullCursors,
          pending: null,
          watermark_before: before?.watermark ?? null,
          watermark_after: watermark,
        })
        .execute()
      return { ...landed, read: seen.rows, nullCursors: seen.nullCursors }
    }),
  )
  logExtracted(deps, run, name, counts)
}

function logExtracted(
  deps: Deps,
  run: Run,
  stream: StreamName,
  counts: LandedCounts & { read: number; nullCursors: number },
): void {
  deps.logger.info({ run_id: run.run_id, stream, ...counts }, 'stream_extracted')
  if (counts.nullCursors > 0) {
    deps.logger.warn({ run_id: run.run_id, stream, rows: counts.nullCursors }, 'rows_without_cursor')
  }
}

type Seen = { rows: number; newestCursor: string | null; nullCursors: number }

/** Rows as COPY's CSV; notes the newest cursor on the way, which the server's order makes the last one. */
async function* csvLines(stream: StreamName, batches: DeltaRows, seen: Seen): AsyncGenerator<string> {
  const { columns, toRow } = streamShapes[stream]
  for await (const batch of batches) {
    let lines = ''
    for (const values of batch) {
      seen.rows += 1
      const cursor = values[columns.length] ?? null
      if (cursor === null) seen.nullCursors += 1
      else seen.newestCursor = cursor
      const row: PartnerRow = Object.fromEntries(columns.map((column, index) => [column, values[index] ?? null]))
      const landing = toRow(row, row.partner_id ?? '')
      const [partnerId, rowKey] = indexable(landing)
      lines += `${quoted(partnerId)},${quoted(rowKey)},${quoted(JSON.stringify(landing.content))}\n`
    }
    yield lines
  }
}

/** Bytes of a key that an index of Postgres surely takes; its limit is about 2,700 for the columns together. */
const maxKeyBytes = 1_000

/** Partner id and row key as they can be stored: of absurdly long ones the beginning and a digest. Preflight refuses them. */
function indexable({ partnerId, rowKey }: LandingRow): [partnerId: string, rowKey: string] {
  const stored = (text: string) => {
    if (Buffer.byteLength(text) <= maxKeyBytes) return text
    return `${text.slice(0, maxPartnerIdLength + 1)}…${createHash('sha256').update(text).digest('hex')}`
  }
  return [stored(partnerId), stored(rowKey)]
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
