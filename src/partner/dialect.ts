import { isUtf8 } from 'node:buffer'
import type { CursorProtection, ProtectionLack } from '../db/tables/run-tables.ts'
import { PartnerDatabaseError } from './partner-errors.ts'

export type PartnerOptions = {
  url: string
  /** Milliseconds that one statement may take; 0: no limit. SQLite knows none. */
  statementTimeoutMs: number
  connectTimeoutMs?: number
}

/** What a stream's query is expected to yield. */
export type StreamQuery = { stream: string; query: string; columns: readonly string[]; fetchRows: number }

export type DeltaQuery = CursorQuery & {
  /** Read rows at or past this cursor, as the database printed it; null: all rows. */
  from: string | null
  /** How far before `from` to begin when the cursor is a time, in milliseconds. */
  overlapMs: number
  /**
   * All rows of some hotels, wherever their cursors stand, instead of those from `from` on. A dialect may yield rows of
   * others as well, where it cannot tell by SQL what it will print; it leaves out none of these. An empty id is also
   * null.
   */
  only?: { column: string; partnerIds: readonly string[] }
}

/**
 * Rows of a delta, each an array of texts in the order of `columns`, then the cursor as far as it may move the
 * watermark. Where that may be short of the row's own cursor, one more text says this one, and is null where they are
 * equal.
 */
export type DeltaRows = AsyncIterable<(string | null)[][]>

/** A query whose rows have a cursor. */
export type CursorQuery = StreamQuery & { cursor: string }

/** The row with the newest cursor, and the newest cursor that may move the watermark as it is; null where none may. */
export type Newest = { row: (string | null)[]; reached: string | null }

/** All rows of a query, and what is newest: null where no row has a cursor. Asked for once all are read. */
export type AllRows = {
  rows: DeltaRows
  /** Whether the rows come in the order of their cursor. */
  inOrder: boolean
  newest(): Promise<Newest | null>
}

/** All rows in the order of their cursor, for a dialect in which another order gains nothing. */
export function allInOrder(snapshot: Pick<PartnerSnapshot, 'delta'>, query: CursorQuery): AllRows {
  const at = query.columns.length
  let newest: Newest | null = null
  async function* rows(): DeltaRows {
    for await (const batch of snapshot.delta({ ...query, from: null, overlapMs: 0 })) {
      const row = batch.findLast((row) => row[at] != null)
      const before: string | null = newest?.reached ?? null
      const reached = batch.findLast((row) => row[at] != null && row[at + 1] == null)?.[at] ?? before
      if (row !== undefined) newest = { row, reached }
      yield batch
    }
  }
  return { rows: rows(), inOrder: true, newest: async () => newest }
}

/** What a server would do with a stream's query, as far as it says. */
export type QueryPlan = {
  /** How many rows it expects all of the query to yield. */
  rows: number | null
  /** What that costs, in the server's own unit: to be compared with its other plans only. */
  cost: number | null
  /** Whether an index leads to the rows past a cursor; null where there is no cursor, or it cannot be told. */
  indexed: boolean | null
}

/**
 * One read-only view of the partner's database: every stream read through it sees the same moment. What a dialect
 * provides, and all that the rest knows of it.
 */
export type PartnerSnapshot = {
  /**
   * Which server and database answer, and since which restore, in the dialect's own words; null where it does not say.
   */
  server: string | null
  /** Why the server's open transactions cannot be told; null if they can, or if the dialect knows no such list. */
  lacks: ProtectionLack | null
  /** How long the oldest transaction had been open that may still write, in milliseconds; 0 where none shows. */
  openMs: number
  /** What the server's clock showed, in milliseconds since 1970, and when that was by our monotonic clock. */
  clock: { ms: number; at: number }
  /**
   * Asks what a query yields, and reads no row of it into the ledger.
   * @returns how well its cursor finds rows that are committed late; null without a cursor.
   * @throws {PartnerDatabaseError} `partner_query_failed` when it is wrong or lacks a column.
   */
  check(query: StreamQuery & { cursor: string | null }): Promise<CursorProtection | null>
  /** The type of a cursor, by a name under which watermarks of it can be compared; null while it has no value. */
  cursorType(query: StreamQuery & { cursor: string }): Promise<string | null>
  /** How the server would go about a query, without reading it. */
  explain(query: StreamQuery & { cursor: string | null }): Promise<QueryPlan>
  /** Rows at or past the watermark, in the order of the cursor; rows without a cursor come first, always. */
  delta(delta: DeltaQuery): DeltaRows
  /** All rows as `delta` shows them, in the order that costs the server least. */
  all(query: CursorQuery): AllRows
  /** All rows in no order, as COPY's text form (UTF-8): a line per row, a column per tab, `\N` for null. */
  lines(query: StreamQuery): AsyncIterable<Buffer>
  hasRows(query: StreamQuery): Promise<boolean>
  close(): Promise<void>
}

/** A configured query as a part of another one. */
export function withoutSemicolon(query: string): string {
  return query.trim().replace(/;$/, '')
}

/**
 * A text as it came, or a refusal: a NUL, half a surrogate pair or bytes that are no UTF-8 can be neither stored nor
 * sent as they are, and nothing is altered silently.
 * @throws {PartnerDatabaseError} `partner_query_failed`, with the stream and the column.
 */
export function exactText(stream: string, column: string, value: string | Buffer): string {
  const text = typeof value === 'string' ? value : value.toString('utf8')
  const broken = typeof value === 'string' ? !text.isWellFormed() : text.includes('\uFFFD') && !isUtf8(value)
  if (!broken && !text.includes('\0')) return text
  throw new PartnerDatabaseError(
    'partner_query_failed',
    `The stream ${stream} yields a text with ${broken ? 'broken characters' : 'a NUL character'} in ${column}, which can be neither stored nor sent. Fix the value, or streams.${stream}.query.`,
  )
}

/** Bytes as text, as PostgreSQL writes them. */
export function bytesText(bytes: Uint8Array): string {
  return `\\x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`
}

/** The bytes that `bytesText` wrote. */
export function textBytes(text: string): Buffer {
  return Buffer.from(text.replace(/^\\x/, ''), 'hex')
}

/**
 * Bytes of values that a batch may have, however few its rows are. Texts of a row may be millions of characters long,
 * and thousands of such rows do not fit into memory; ordinary ones are far from it.
 */
export const heldBytes = 1024 * 1024

/** Rows fetched first, while nobody knows how long they are. */
export const firstCount = 100

/**
 * Bytes of text that a batch should have. Batches that outlive a collection or two of young garbage are moved with it:
 * with 2 MB the process grew by 200 MB, with a quarter of one by 30, and neither took longer.
 */
const fetchedBytes = 65_536

/** Rows to fetch next: as many as make a batch by the length of those before, and at most `most`. Pure. */
export function nextCount(rows: readonly (readonly (string | null)[])[], most: number): number {
  const step = Math.ceil(rows.length / 16)
  let bytes = 0
  let looked = 0
  for (let at = 0; at < rows.length; at += step) {
    looked += 1
    for (const value of rows[at] ?? []) bytes += 16 + (value?.length ?? 0)
  }
  const fitting = Math.floor((fetchedBytes * looked) / Math.max(bytes, 1))
  // Twice as many as before at most: a batch of short rows says little of the next.
  return Math.max(1, Math.min(most, fitting, Math.max(firstCount, rows.length * 2)))
}
