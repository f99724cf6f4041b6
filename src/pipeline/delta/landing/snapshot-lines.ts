import { pipeline } from 'node:stream/promises'
import { type RawBuilder, sql, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { binaryStream } from '../../../db/copy-text.ts'
import type { Schema } from '../../../db/tables/database-schema.ts'
import { firstCount, nextCount } from '../../../partner/dialect.ts'
import { foldedBefore, keepSums } from './kept-snapshot.ts'
import { buckets, LineSums } from './line-sums.ts'
import { addWaiting } from './unknown-codes.ts'

/** Memory of a sort or hash table while snapshots are compared. Less spills to disk; it is given back at the end. */
const comparisonMemory = '64MB'

/** A line as a snapshot brought it, and its hash, which is the name that it is known by. */
export type SnapshotLine = { line: string; high: string; low: string }

/**
 * Copies a snapshot's lines, as they come, into a temporary table, and sums their hashes by bucket on the way.
 *
 * @returns how many lines there are, and whether any bucket differs from the stream's last snapshot.
 */
export async function copySnapshot(
  client: PoolClient,
  trx: Transaction<Schema>,
  stream: string,
  pieces: AsyncIterable<Buffer>,
): Promise<{ lines: number; differs: boolean }> {
  await sql`set local work_mem = ${sql.lit(comparisonMemory)}`.execute(trx)
  // A value has many lines, and is not to be compressed.
  await sql`
    create temp table snapshot (lines text not null) with (toast_tuple_target = 8160) on commit drop`.execute(trx)
  const sums = new LineSums()
  const packed = binaryStream(packedLines(sums.passing(wholeLines(pieces))))
  await pipeline(packed, client.query(copyFrom('copy snapshot (lines) from stdin with (format binary)')))
  await keepSums(client, trx, sums, allLines)
  await sql`
    create temp table differing_bucket on commit drop as
    select bucket
    from read_bucket
    full join (select * from snapshot_bucket where stream = ${stream}) known using (bucket)
    where (read_bucket.lines, read_bucket.high_sum, read_bucket.low_sum)
      is distinct from (known.lines, known.high_sum, known.low_sum)`.execute(trx)
  const { rows } = await sql<{ differs: boolean }>`
    select exists (select from differing_bucket) as differs`.execute(trx)
  return { lines: sums.lines, differs: rows[0]?.differs ?? false }
}

/** Each line of a snapshot, by itself. An empty text has no parts, and yet is a line: the only one of its value. */
const allLines = sql`
  select line
  from snapshot, unnest(case when lines = '' then array[''] else string_to_array(lines, E'\\n') end) line`

/** The same with the hashes by which a line is known. */
const hashedLines = sql`
  select hashtextextended(line, 0) as high, hashtextextended(line, 1) as low, line from (${allLines}) read_line`

/**
 * Finds, within the buckets that differ, the lines that the last snapshot did not have, and the ledger rows that lost
 * one of theirs. Of such a row all lines are needed again: the tables `unknown_line` and `remaining_text`.
 * @param partsLookedUp whether rows fold, and codes of theirs are looked up.
 */
export async function findDifferences(trx: Transaction<Schema>, stream: string, partsLookedUp: boolean): Promise<void> {
  // Where each line was a row of its own, a row that lost its line has none left, and nobody need look for them.
  const folded = await foldedBefore(trx, stream)
  await sql`analyze differing_bucket`.execute(trx)
  // All lines are hashed and compared in one pass, and what is equal is stored nowhere.
  await sql`
    create temp table difference on commit drop as
    select high, low, line, row_id, place
    from (
      select high, low, line from (${hashedLines}) hashed
      where (high & ${sql.lit(buckets - 1)})::integer in (select bucket from differing_bucket)
    ) read
    full join (
      select high, low, row_id, ctid as place from snapshot_line
      where stream = ${stream} and bucket in (select bucket from differing_bucket)
    ) known using (high, low)
    where line is null or row_id is null`.execute(trx)
  await sql`
    create temp table unknown_line on commit drop as
    select distinct on (high, low) high, low, line from difference where line is not null`.execute(trx)
  await sql`
    create temp table vanished_line on commit drop as select place from difference where line is null`.execute(trx)
  await sql`
    create temp table vanished_row on commit drop as
    select distinct row_id, true as lost_line from difference where line is null`.execute(trx)
  const waited = partsLookedUp && (await addWaiting(trx, stream))
  await sql`analyze unknown_line, vanished_line, vanished_row`.execute(trx)
  // Nobody else touches lines of a stream whose reading is locked, so each is where it was found.
  await sql`
    delete from snapshot_line using vanished_line gone where snapshot_line.ctid = gone.place`.execute(trx)
  await sql`
    create temp table remaining_line on commit drop as
    select high, low from snapshot_line
    where ${folded > 0 || waited} and exists (select from vanished_row)
      and stream = ${stream} and row_id in (select row_id from vanished_row)`.execute(trx)
  await sql`
    create temp table remaining_text on commit drop as
    select distinct on (high, low) high, low, line from (${hashedLines}) hashed
    where exists (select from remaining_line)
      and (high, low) in (select high, low from remaining_line)`.execute(trx)
}

/**
 * The lines that are needed, `most` at a time, and fewer where they are long. Between two batches the connection is
 * free for other statements.
 */
export async function* neededLines(trx: Transaction<Schema>, most: number): AsyncGenerator<SnapshotLine[]> {
  yield* linesOf(trx, most, sql`select * from unknown_line union all select * from remaining_text`)
}

/**
 * Of ledger rows that gain a line while others of theirs stay, those others: what the row says must not depend on which
 * came first. The rows that were needed are staged; a ledger row is known by its key, which nobody but these rows says.
 *
 * What folds is merged over what the ledger holds, which stands for the lines that stay, unless one of them may say
 * something else of what is gained: something that the ledger holds, or null, which it does not hold.
 * @param foldedKey where rows are merged under it.
 */
export async function* gainedLines(
  trx: Transaction<Schema>,
  stream: string,
  foldedKey: string | undefined,
  most: number,
): AsyncGenerator<SnapshotLine[]> {
  await sql`analyze staged (row_key)`.execute(trx)
  // Most of what is staged is of rows that lost a line. These are known by number, and need not be looked up by key.
  await sql`
    create temp table further_key on commit drop as
    select row_key, bool_or(${foldedKey === undefined ? sql`true` : sql`exists (${saidOtherwise(stream, foldedKey)})`})
             as otherwise
    from staged
    where not exists (
      select from vanished_row join source_row using (row_id) where source_row.row_key = staged.row_key
    )
    group by row_key`.execute(trx)
  await sql`analyze further_key`.execute(trx)
  // With more lines than parts that have a value one of them may have said null.
  const parts =
    foldedKey === undefined
      ? sql`0`
      : sql`(select count(*) from jsonb_object_keys(jsonb_strip_nulls(source_row.content -> ${foldedKey}::text)))`
  await sql`
    create temp table gaining_row on commit drop as
    select source_row.row_id, otherwise, ${parts} as parts
    from further_key
    join source_row on source_row.stream = ${stream} and source_row.row_key = further_key.row_key`.execute(trx)
  await sql`analyze gaining_row`.execute(trx)
  await sql`
    create temp table gained_line on commit drop as
    select high, low
    from (
      select high, low, row_id, count(*) over (partition by row_id) as lines from snapshot_line
      where exists (select from gaining_row) and stream = ${stream}
        and row_id in (select row_id from gaining_row)
    ) held
    join gaining_row using (row_id)
    where otherwise or lines > parts`.execute(trx)
  yield* linesOf(
    trx,
    most,
    sql`select distinct on (high, low) high, low, line from (${hashedLines}) hashed
        where exists (select from gained_line) and (high, low) in (select high, low from gained_line)`,
  )
}

/** The ledger row of a staged one, where it says something else of the same part, or contradicts itself already. */
function saidOtherwise(stream: string, foldedKey: string): RawBuilder<unknown> {
  return sql`
    select from source_row held
    where held.stream = ${stream} and held.row_key = staged.row_key and (
      held.contradiction is not null
      or exists (
        select from jsonb_each(held.content -> ${foldedKey}::text) said
        join jsonb_each(staged.content -> ${foldedKey}::text) part on lower(part.key) = lower(said.key)
        where part.key <> said.key or part.value <> said.value
      )
    )`
}

async function* linesOf(
  trx: Transaction<Schema>,
  most: number,
  query: RawBuilder<unknown>,
): AsyncGenerator<SnapshotLine[]> {
  await sql`
    declare needed no scroll cursor for
    select line, high::text as high, low::text as low from (${query}) needed_line`.execute(trx)
  for (let count = Math.min(firstCount, most); ; ) {
    const { rows } = await sql<SnapshotLine>`fetch forward ${sql.lit(count)} from needed`.execute(trx)
    if (rows.length === 0) break
    count = nextCount(
      rows.map(({ line }) => [line]),
      most,
    )
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

const newline = 10

/**
 * The lines of a byte stream, as many at a time as end within one of its pieces; the last of them without its line end.
 * A character whose bytes lie in two pieces stays whole.
 */
export async function* wholeLines(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  for await (const piece of pieces) {
    const end = piece.lastIndexOf(newline)
    if (end === -1) {
      if (piece.length > 0) begun.push(piece)
      continue
    }
    const whole = piece.subarray(0, end)
    yield begun.length === 0 ? whole : Buffer.concat([...begun, whole])
    begun = end + 1 < piece.length ? [piece.subarray(end + 1)] : []
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}

/**
 * Bytes of a value of whole lines, so that it has a page of a table almost to itself: one value costs the server about
 * what one line does. A longer line is a value of its own.
 */
const valueBytes = 8_000

/** The number of the row's values, and the length of the only one. */
const valueHead = 6

/** Lines as rows for COPY's binary form: each is one text, which holds as many lines as fit. */
export async function* packedLines(batches: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const lines of batches) {
    const ends = valueEnds(lines)
    const packed = Buffer.allocUnsafe(lines.length + ends.length * valueHead)
    let at = 0
    let from = 0
    for (const end of ends) {
      at = packed.writeUInt16BE(1, at)
      at = packed.writeUInt32BE(end - from, at)
      at += lines.copy(packed, at, from, end)
      from = end + 1
    }
    yield packed.subarray(0, at)
  }
}

/** Where values end: each at a line end that is left out, and the last with the lines. */
function valueEnds(lines: Buffer): number[] {
  const ends: number[] = []
  for (let from = 0; from <= lines.length; ) {
    const end = valueEnd(lines, from)
    ends.push(end)
    from = end + 1
  }
  return ends
}

function valueEnd(lines: Buffer, from: number): number {
  if (lines.length - from <= valueBytes) return lines.length
  const last = lines.lastIndexOf(newline, from + valueBytes)
  if (last > from) return last
  const next = lines.indexOf(newline, from + 1)
  return next === -1 ? lines.length : next
}
