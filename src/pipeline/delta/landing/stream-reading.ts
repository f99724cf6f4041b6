import { type Selectable, sql, type Transaction } from 'kysely'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type {
  LookupsRead,
  StreamReadingTable,
  StreamWatermarkTable,
  WholeReason,
} from '../../../db/tables/run-tables.ts'
import { forgetSnapshot } from './kept-snapshot.ts'

/** How a stream was last read, and how far its last full comparison lies back by the database's clock. */
export type StreamReading = Pick<
  Selectable<StreamReadingTable>,
  'capture' | 'server' | 'whole_wanted' | 'query_digest'
> & {
  lookups: LookupsRead | null
  whole_ago_ms: number | null
}

export type StreamWatermark = Selectable<StreamWatermarkTable>

/**
 * What is known of a stream's last reading, locked until the transaction ends: two readings, or a reading and a person
 * who wants it read again, come one after the other.
 */
export async function lockReading(trx: Transaction<Schema>, stream: string): Promise<StreamReading> {
  await sql`insert into stream_reading (stream) values (${stream}) on conflict do nothing`.execute(trx)
  const { rows } = await sql<StreamReading>`
    select capture, server, whole_wanted, query_digest, lookups,
           (extract(epoch from clock_timestamp() - whole_at) * 1000)::float8 as whole_ago_ms
    from stream_reading where stream = ${stream}
    for update`.execute(trx)
  const never = { capture: null, server: null, whole_wanted: null, query_digest: null, lookups: null }
  return rows[0] ?? { ...never, whole_ago_ms: null }
}

/** The watermark of a stream, with what it was taken from. */
export async function watermarkOf(trx: Transaction<Schema>, stream: string): Promise<StreamWatermark | null> {
  return (await trx.selectFrom('stream_watermark').selectAll().where('stream', '=', stream).executeTakeFirst()) ?? null
}

type Reading = {
  stream: string
  capture: 'cursor' | 'snapshot'
  server: string | null
  queryDigest: string
  lookups: LookupsRead
  /** Why all rows were read, if they were. */
  whole: WholeReason | null
  /** Whether a row that did not come is gone at the partner. */
  complete: boolean
  held: boolean
}

/**
 * Keeps how a stream was read now. What the guard holds is not known to be right, and the partner may put it right
 * without touching a cursor: the next run reads everything again, also where this one read from the watermark on.
 * That a person wanted the stream reread holds for one reading.
 */
export async function noteReading(trx: Transaction<Schema>, reading: Reading): Promise<void> {
  const { stream, capture, server, queryDigest, lookups, whole, complete, held } = reading
  const wanted = whole === null || whole === 'reread' || whole === 'clock' ? 'held' : whole
  await sql`
    insert into stream_reading as known (stream, capture, server, query_digest, lookups, whole_at, whole_wanted)
    values (${stream}, ${capture}, ${server}, ${queryDigest}, ${JSON.stringify(lookups)},
            case when ${complete && !held} then clock_timestamp() end, ${held ? wanted : null}::text)
    on conflict (stream) do update
    set capture = excluded.capture, server = coalesce(excluded.server, known.server),
        query_digest = excluded.query_digest, lookups = excluded.lookups,
        whole_at = coalesce(excluded.whole_at, known.whole_at), whole_wanted = excluded.whole_wanted`.execute(trx)
}

/** Has the next run read all of a stream, of which the guard holds rows that were read besides. */
export async function wantHeldAgain(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`
    update stream_reading set whole_wanted = coalesce(whole_wanted, ${'held' satisfies WholeReason})
    where stream = ${stream}`.execute(trx)
}

/** Forgets what a stream was compared with: the next run reads all of it and compares it with the ledger. */
export async function forgetReading(trx: Transaction<Schema>, stream: string): Promise<void> {
  await trx.deleteFrom('stream_watermark').where('stream', '=', stream).execute()
  await forgetSnapshot(trx, stream)
  await sql`update stream_reading set whole_wanted = 'reread' where stream = ${stream}`.execute(trx)
}

/** Puts a stream's watermark back, so that the next run reads from there. */
export async function putWatermarkBack(trx: Transaction<Schema>, stream: string, watermark: string): Promise<void> {
  await trx.updateTable('stream_watermark').set({ watermark }).where('stream', '=', stream).execute()
}

/** Whether rows of a stream wait for approval. */
export async function anyGuarded(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (select from source_row where stream = ${stream} and guard_run is not null) as any`.execute(trx)
  return rows[0]?.any === true
}

/** Whether the ledger has no row of a stream yet, not even one that is gone. */
export async function isNewStream(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const { rows } = await sql<{ known: boolean }>`
    select exists (select from source_row where stream = ${stream}) as known`.execute(trx)
  return rows[0]?.known !== true
}

/**
 * Keeps by name which ledger rows of a stream come without a cursor: those staged now, for all of them are always read.
 * @param any whether any staged row is one.
 */
export async function noteNullCursors(trx: Transaction<Schema>, stream: string, any: boolean): Promise<void> {
  if (!any) {
    // Few rows, if any, looked up one by one: a join might read the whole ledger.
    await sql`
      delete from null_cursor_row
      where (select stream from source_row where source_row.row_id = null_cursor_row.row_id) = ${stream}`.execute(trx)
    return
  }
  await sql`
    with found as (
      select distinct source_row.row_id
      from staged join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key
      where without_cursor
    ),
    fixed as (
      delete from null_cursor_row
      using source_row
      where source_row.row_id = null_cursor_row.row_id and source_row.stream = ${stream}
        and not exists (select from found where found.row_id = null_cursor_row.row_id)
    )
    insert into null_cursor_row (row_id)
    select row_id from found
    on conflict do nothing`.execute(trx)
}
