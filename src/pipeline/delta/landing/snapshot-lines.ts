import { pipeline } from 'node:stream/promises'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Schema } from '../../../db/tables/database-schema.ts'

/**
 * Buckets that the lines of a snapshot are spread over by their hash. More make a night with few changes cheaper,
 * because only buckets that differ are compared line by line; but beyond what a processor's cache holds, summing up
 * costs more than reading. Measured with a million lines: 0.4 s with 4,096 buckets, 1.6 s with 65,536.
 */
const buckets = 4_096

/** Memory of a sort or hash table while snapshots are compared. Less spills to disk; it is given back at the end. */
const comparisonMemory = '64MB'

/** A line as a snapshot brought it, and its hash, which is the name that it is known by. */
export type SnapshotLine = { line: string; high: string; low: string }

/**
 * Copies a snapshot's lines, as they come, into a temporary table, and sums their hashes by bucket.
 *
 * Two 64-bit hashes name a line: two different ones of a hundred million are equal by chance once in 10^22 snapshots.
 * Sums do not depend on the order in which the lines come, and count a line as often as it comes.
 *
 * @returns how many lines there are, and whether any bucket differs from the stream's last snapshot.
 */
export async function copySnapshot(
  client: PoolClient,
  trx: Transaction<Schema>,
  stream: string,
  lines: AsyncIterable<Buffer>,
): Promise<{ lines: number; differs: boolean }> {
  await sql`set local work_mem = ${sql.lit(comparisonMemory)}`.execute(trx)
  await sql`create temp table snapshot (line text not null) on commit drop`.execute(trx)
  // The delimiter and the quote are characters that COPY's text form always escapes: a line goes in as it is.
  const copy = `copy snapshot (line) from stdin with (format csv, delimiter E'\\x08', quote E'\\x0b')`
  await pipeline(lines, client.query(copyFrom(copy)))
  await sumUp(trx, 'snapshot')
  await sql`
    create temp table differing_bucket on commit drop as
    select bucket
    from read_bucket
    full join (select * from snapshot_bucket where stream = ${stream}) known using (bucket)
    where (read_bucket.lines, read_bucket.high_sum, read_bucket.low_sum)
      is distinct from (known.lines, known.high_sum, known.low_sum)`.execute(trx)
  const { rows } = await sql<{ lines: number; differs: boolean }>`
    select (select coalesce(sum(lines), 0) from read_bucket)::bigint as lines,
           exists (select from differing_bucket) as differs`.execute(trx)
  return rows[0] ?? { lines: 0, differs: false }
}

/** Whether a snapshot of the stream was kept that another can be compared with. */
export async function hasSnapshot(trx: Transaction<Schema>, stream: string): Promise<boolean> {
  const known = await trx.selectFrom('stream_snapshot').select('stream').where('stream', '=', stream).executeTakeFirst()
  return known !== undefined
}

/** Sums the hashes of lines by bucket: the table `read_bucket`. */
async function sumUp(trx: Transaction<Schema>, table: 'snapshot' | 'staged'): Promise<void> {
  await sql`
    create temp table read_bucket on commit drop as
    select (high & ${sql.lit(buckets - 1)})::integer as bucket, count(*) as lines, sum(high) as high_sum, sum(low) as low_sum
    from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low from ${sql.table(table)}) hashed
    group by 1`.execute(trx)
}

/**
 * Finds, within the buckets that differ, the lines that the last snapshot did not have, and the ledger rows that lost
 * one of theirs. Of such a row all lines are needed again: the tables `unknown_line` and `remaining_text`.
 */
export async function findDifferences(trx: Transaction<Schema>, stream: string): Promise<void> {
  await sql`analyze differing_bucket`.execute(trx)
  await sql`
    create temp table read_line on commit drop as
    select distinct on (high, low) high, low, line
    from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, line from snapshot) hashed
    where (high & ${sql.lit(buckets - 1)})::integer in (select bucket from differing_bucket)`.execute(trx)
  await sql`
    create temp table known_line on commit drop as
    select high, low, row_id from snapshot_line
    where stream = ${stream} and bucket in (select bucket from differing_bucket)`.execute(trx)
  await sql`analyze read_line, known_line`.execute(trx)
  await sql`
    create temp table unknown_line on commit drop as
    select high, low, line from read_line
    where not exists (select from known_line where (known_line.high, known_line.low) = (read_line.high, read_line.low))`.execute(
    trx,
  )
  await sql`
    create temp table vanished_line on commit drop as
    select high, low, row_id from known_line
    where not exists (select from read_line where (read_line.high, read_line.low) = (known_line.high, known_line.low))`.execute(
    trx,
  )
  await sql`
    create temp table vanished_row on commit drop as select distinct row_id from vanished_line`.execute(trx)
  await sql`analyze unknown_line, vanished_line, vanished_row`.execute(trx)
  await sql`
    delete from snapshot_line using vanished_line gone
    where snapshot_line.stream = ${stream} and snapshot_line.bucket = (gone.high & ${sql.lit(buckets - 1)})::integer
      and snapshot_line.high = gone.high and snapshot_line.low = gone.low`.execute(trx)
  await sql`
    create temp table remaining_line on commit drop as
    select high, low from snapshot_line
    where exists (select from vanished_row)
      and stream = ${stream} and row_id in (select row_id from vanished_row)`.execute(trx)
  await sql`
    create temp table remaining_text on commit drop as
    select distinct on (high, low) high, low, line
    from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, line from snapshot) hashed
    where exists (select from remaining_line)
      and (high, low) in (select high, low from remaining_line)`.execute(trx)
}

/** The lines that are needed, some at a time. Between two batches the connection is free for other statements. */
export async function* neededLines(trx: Transaction<Schema>, batch: number): AsyncGenerator<SnapshotLine[]> {
  yield* linesOf(trx, batch, sql`select * from unknown_line union all select * from remaining_text`)
}

/**
 * Of ledger rows that gain a line while others of theirs stay, those others: what the row says must not depend on which
 * came first. The rows that were needed are staged; a ledger row is known by its key, which nobody but these rows says.
 */
export async function* gainedLines(
  trx: Transaction<Schema>,
  stream: string,
  batch: number,
): AsyncGenerator<SnapshotLine[]> {
  await sql`analyze staged (row_key)`.execute(trx)
  await sql`
    create temp table gaining_row on commit drop as
    select distinct source_row.row_id
    from staged join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key
    where source_row.row_id not in (select row_id from vanished_row)`.execute(trx)
  await sql`
    create temp table gained_line on commit drop as
    select high, low from snapshot_line
    where exists (select from gaining_row) and stream = ${stream} and row_id in (select row_id from gaining_row)`.execute(
    trx,
  )
  yield* linesOf(
    trx,
    batch,
    sql`select distinct on (high, low) high, low, line
        from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, line from snapshot) hashed
        where exists (select from gained_line) and (high, low) in (select high, low from gained_line)`,
  )
}

async function* linesOf(
  trx: Transaction<Schema>,
  batch: number,
  query: RawBuilder<unknown>,
): AsyncGenerator<SnapshotLine[]> {
  await sql`
    declare needed no scroll cursor for
    select line, high::text as high, low::text as low from (${query}) needed_line`.execute(trx)
  for (;;) {
    const { rows } = await sql<SnapshotLine>`fetch forward ${sql.lit(batch)} from needed`.execute(trx)
    if (rows.length === 0) break
    yield rows
  }
  await sql`close needed`.execute(trx)
}

/**
 * Ledger rows that no line stands for any more: the table `missing_row`. To be asked before the rows land.
 * @param first no snapshot of the stream was read before, so what is missing is whatever was not staged.
 */
export async function findMissing(trx: Transaction<Schema>, stream: string, first: boolean): Promise<void> {
  const candidates = first
    ? sql`stream = ${stream} and gone_at is null`
    : sql`row_id in (select row_id from vanished_row) and gone_at is null`
  await sql`
    create temp table missing_row on commit drop as
    select row_id from source_row
    where ${candidates} and not exists (select from staged where staged.row_key = source_row.row_key)`.execute(trx)
}

/** Keeps what this snapshot brought for the next one to compare with; to be done when the rows have landed. */
export async function keepSnapshot(trx: Transaction<Schema>, stream: string, runId: number): Promise<number> {
  await sql`
    insert into snapshot_line (stream, bucket, high, low, row_id)
    select ${stream}, (unknown_line.high & ${sql.lit(buckets - 1)})::integer, unknown_line.high, unknown_line.low, source_row.row_id
    from unknown_line
    join staged using (high, low)
    join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key
    order by 2`.execute(trx)
  await sql`
    delete from snapshot_bucket where stream = ${stream} and bucket in (select bucket from differing_bucket)`.execute(
    trx,
  )
  await keepBuckets(trx, stream, sql`where bucket in (select bucket from differing_bucket)`)
  return await noteSnapshot(trx, stream, runId)
}

/**
 * Keeps a stream's first snapshot, whose lines were staged with their rows.
 * @param written whether every staged row is a row of the ledger of its own, under the number that it was staged with.
 */
export async function keepFirstSnapshot(
  trx: Transaction<Schema>,
  stream: string,
  runId: number,
  written: boolean,
): Promise<number> {
  await sumUp(trx, 'staged')
  const found = written
    ? sql`select line, row_id from staged`
    : sql`select line, source_row.row_id from staged
          join source_row on source_row.stream = ${stream} and source_row.row_key = staged.row_key`
  await sql`
    insert into snapshot_line (stream, bucket, high, low, row_id)
    select distinct on (bucket, high, low) ${stream}, bucket, high, low, row_id
    from (
      select (high & ${sql.lit(buckets - 1)})::integer as bucket, high, low, row_id
      from (select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, row_id from (${found}) line) hashed
    ) placed
    order by bucket, high, low`.execute(trx)
  await keepBuckets(trx, stream, sql``)
  return await noteSnapshot(trx, stream, runId)
}

async function keepBuckets(trx: Transaction<Schema>, stream: string, which: RawBuilder<unknown>): Promise<void> {
  await sql`
    insert into snapshot_bucket (stream, bucket, lines, high_sum, low_sum)
    select ${stream}, bucket, lines, high_sum, low_sum from read_bucket ${which}
    order by bucket`.execute(trx)
}

/** @returns how many lines of the snapshot share a ledger row with another. */
async function noteSnapshot(trx: Transaction<Schema>, stream: string, runId: number): Promise<number> {
  const { rows } = await sql<{ folded: number }>`
    insert into stream_snapshot as known (stream, run_id, folded)
    select ${stream}, ${runId},
           (select coalesce(sum(lines), 0) from read_bucket)
             - (select count(distinct row_id) from snapshot_line where stream = ${stream})
    on conflict (stream) do update
    set run_id = excluded.run_id, folded = excluded.folded, read_at = clock_timestamp()
    returning folded`.execute(trx)
  return rows[0]?.folded ?? 0
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
