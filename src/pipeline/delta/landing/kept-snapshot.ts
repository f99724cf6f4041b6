import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { copyLine, copyReady } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { buckets, LineHash, type LineSums } from './line-sums.ts'

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
               and row_id in (select row_id from placed_line except select row_id from vanished_row where lost_line)
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
