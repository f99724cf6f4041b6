import { type RawBuilder, type Selectable, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { copyLine, copyReady } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import type {
  LookupsRead,
  StreamReadingTable,
  StreamWatermarkTable,
  WholeReason,
} from '../../../db/tables/run-tables.ts'
import { buckets, LineHash, type LineSums } from './line-sums.ts'

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
 * Keeps the sums of a snapshot's lines by bucket for the rest of the transaction: the table `read_bucket`. A server
 * that hashes otherwise than we do sums the lines itself.
 *
 * @param lines a query for the lines that were summed.
 */
export async function keepSums(
  client: PoolClient,
  trx: Transaction<Schema>,
  sums: LineSums,
  lines: RawBuilder<unknown>,
): Promise<void> {
  if (!(await hashesAlike(trx))) {
    await sql`
      create temp table read_bucket on commit drop as
      select (high & ${sql.lit(buckets - 1)})::integer as bucket, count(*) as lines,
             sum(high) as high_sum, sum(low) as low_sum
      from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low from (${lines}) read) hashed
      group by 1`.execute(trx)
    return
  }
  await copySums(client, trx, sums)
}

async function copySums(client: PoolClient, trx: Transaction<Schema>, sums: LineSums): Promise<void> {
  await sql`
    create temp table read_bucket (bucket integer, lines bigint, high_sum numeric, low_sum numeric)
    on commit drop`.execute(trx)
  const rows = Buffer.from(sums.rows().map(copyLine).join(''))
  await copyReady(client, [{ into: 'read_bucket (bucket, lines, high_sum, low_sum)', rows: [rows] }])
}

const sample = 'each word of a line, its rest and its length are part of its hash'

/** Whether the server makes of a text what we make of its bytes in UTF-8. */
export async function hashesAlike(trx: Transaction<Schema>): Promise<boolean> {
  const bytes = Buffer.from(sample)
  const hash = new LineHash()
  const ours = [0, 1].map((seed) => {
    hash.take(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length, seed)
    return String((BigInt(hash.high) << 32n) | BigInt(hash.low >>> 0))
  })
  const { rows } = await sql<{ alike: boolean }>`
    select current_setting('server_encoding') = 'UTF8'
      and array[hashtextextended(${sample}, 0), hashtextextended(${sample}, 1)] = ${ours}::bigint[] as alike`.execute(
    trx,
  )
  return rows[0]?.alike === true
}

/** Whether a snapshot of the stream was kept that another can be compared with. */
export async function hasSnapshot(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const known = await trx.selectFrom('stream_snapshot').select('stream').where('stream', '=', stream).executeTakeFirst()
  return known !== undefined
}

/** Keeps what this snapshot brought for the next one to compare with; to be done when the rows have landed. */
export async function keepSnapshot(trx: Transaction<Schema>, stream: string, runId: number): Promise<number> {
  await sql`
    create temp table placed_line on commit drop as
    select (unknown_line.high & ${sql.lit(buckets - 1)})::integer as bucket,
           unknown_line.high, unknown_line.low, source_row.row_id
    from unknown_line
    join staged using (high, low)
    join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key`.execute(trx)
  await sql`analyze placed_line`.execute(trx)
  const apart = await isEachApart(trx, stream)
  await sql`
    insert into snapshot_line (stream, bucket, high, low, row_id)
    select ${stream}, bucket, high, low, row_id from placed_line order by bucket`.execute(trx)
  await sql`
    delete from snapshot_bucket where stream = ${stream} and bucket in (select bucket from differing_bucket)`.execute(
    trx,
  )
  await keepBuckets(trx, stream, sql`where bucket in (select bucket from differing_bucket)`)
  return await noteSnapshot(trx, stream, runId, apart ? 0 : await countFolded(trx, stream))
}

/** Keeps a stream's first snapshot, whose lines were staged with their rows. */
export async function keepFirstSnapshot(
  client: PoolClient,
  trx: Transaction<Schema>,
  stream: string,
  runId: number,
  sums: LineSums,
): Promise<number> {
  await keepSums(client, trx, sums, sql`select line from staged`)
  await sql`
    insert into snapshot_line (stream, bucket, high, low, row_id)
    select distinct on (bucket, high, low) ${stream}, bucket, high, low, row_id
    from (
      select (high & ${sql.lit(buckets - 1)})::integer as bucket, high, low, row_id
      from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, source_row.row_id
            from staged join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key) hashed
    ) placed
    order by bucket, high, low`.execute(trx)
  await keepBuckets(trx, stream, sql``)
  return await noteSnapshot(trx, stream, runId, await countFolded(trx, stream))
}

/** Makes the temporary table in which lines of rows that go straight into the ledger wait to be kept. */
export async function createKeptLines(trx: Transaction<Schema>): Promise<void> {
  await sql`
    create temp table kept_line
      (bucket integer not null, high bigint not null, low bigint not null, row_id bigint not null)
    on commit drop`.execute(trx)
}

type WrittenSnapshot = { stream: string; runId: number; sums: LineSums; folded: number }

/** Keeps a stream's first snapshot whose rows went straight into the ledger: its lines are in `kept_line`. */
export async function keepWrittenSnapshot(
  client: PoolClient,
  trx: Transaction<Schema>,
  { stream, runId, sums, folded }: WrittenSnapshot,
): Promise<void> {
  await sql`set local work_mem = ${sql.lit(keepingMemory)}`.execute(trx)
  await sql`
    insert into snapshot_line (stream, bucket, high, low, row_id)
    select ${stream}, bucket, high, low, row_id from kept_line order by bucket`.execute(trx)
  await copySums(client, trx, sums)
  await keepBuckets(trx, stream, sql``)
  await noteSnapshot(trx, stream, runId, folded)
}

/** Memory of the sort of lines by bucket. Less spills to disk. */
const keepingMemory = '64MB'

async function keepBuckets(trx: Transaction<Schema>, stream: string, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into snapshot_bucket (stream, bucket, lines, high_sum, low_sum)
    select ${stream}, bucket, lines, high_sum, low_sum from read_bucket ${which}
    order by bucket`.execute(trx)
}

/**
 * Whether each line is still a ledger row of its own, so that nothing need be counted: it was so before, no line comes
 * twice, and no line that is new has its row together with another. To be asked before these are kept.
 */
async function isEachApart(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  if ((await foldedBefore(trx, stream)) > 0) return false
  const { rows } = await sql<{ apart: boolean }>`
    select (select coalesce(sum(lines), 0) from read_bucket)
             = (select coalesce(sum(lines), 0) from snapshot_bucket where stream = ${stream})
               - (select count(*) from vanished_line) + (select count(*) from placed_line)
           and (select count(distinct row_id) = count(*) from placed_line)
           and not exists (
             select from snapshot_line
             where stream = ${stream}
               and row_id in (select row_id from placed_line except select row_id from vanished_row)
           ) as apart`.execute(trx)
  return rows[0]?.apart === true
}

/** How many lines of the snapshot share a ledger row with another. */
async function countFolded(trx: Transaction<Schema>, stream: string): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    select ((select coalesce(sum(lines), 0) from read_bucket)
             - (select count(distinct row_id) from snapshot_line where stream = ${stream}))::bigint as folded`.execute(
    trx,
  )
  return rows[0]?.folded ?? 0
}

async function noteSnapshot(trx: Transaction<Schema>, stream: string, runId: number, folded: number): Promise<number> {
  await sql`
    insert into stream_snapshot (stream, run_id, folded) values (${stream}, ${runId}, ${folded})
    on conflict (stream) do update
    set run_id = excluded.run_id, folded = excluded.folded, read_at = clock_timestamp()`.execute(trx)
  return folded
}

/** How many lines of the stream's last snapshot shared a ledger row with another. */
export async function foldedBefore(trx: Transaction<Schema>, stream: string): Promise<number> {
  const known = await trx.selectFrom('stream_snapshot').select('folded').where('stream', '=', stream).executeTakeFirst()
  return known?.folded ?? 0
}

/** Forgets a stream's snapshot: rows that a cursor changes meanwhile would make it wrong. */
export async function forgetSnapshot(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`
    with known as (delete from stream_snapshot where stream = ${stream}),
         bucket as (delete from snapshot_bucket where stream = ${stream})
    delete from snapshot_line where stream = ${stream}`.execute(trx)
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
