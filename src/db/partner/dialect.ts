import type { CursorProtection } from '../tables/run.ts'

export type PartnerOptions = {
  url: string
  /** Milliseconds that one statement may take; 0: no limit. SQLite knows none. */
  statementTimeoutMs: number
  connectTimeoutMs?: number
}

/** What a stream's query is expected to yield. */
export type StreamQuery = { stream: string; query: string; columns: readonly string[]; fetchRows: number }

export type DeltaQuery = StreamQuery & {
  cursor: string
  /** Read rows at or past this cursor, as the database printed it; null: all rows. */
  from: string | null
  /** How far before `from` to begin when the cursor is a time, in milliseconds. */
  overlapMs: number
}

/**
 * Rows of a delta, each an array of texts in the order of `columns`, then the cursor as far as it may move the
 * watermark. Where that may be short of the row's own cursor, one more text says this one, and is null where they are equal.
 */
export type DeltaRows = AsyncIterable<(string | null)[][]>

/**
 * One read-only view of the partner's database: every stream read through it sees the same moment. What a dialect
 * provides, and all that the rest knows of it.
 */
export type PartnerSnapshot = {
  /**
   * Asks what a query yields, and reads no row of it into the ledger.
   * @returns how well its cursor finds rows that are committed late; null without a cursor.
   * @throws {PartnerDatabaseError} `partner_query_failed` when it is wrong or lacks a column.
   */
  check(query: StreamQuery & { cursor: string | null }): Promise<CursorProtection | null>
  /** Rows at or past the watermark, in the order of the cursor; rows without a cursor come first, always. */
  delta(delta: DeltaQuery): DeltaRows
  /** All rows in no order, as COPY's text form (UTF-8): a line per row, a column per tab, `\N` for null. */
  lines(query: StreamQuery): AsyncIterable<Buffer>
  hasRows(query: StreamQuery): Promise<boolean>
  close(): Promise<void>
}

/** A configured query as a part of another one. */
export function withoutSemicolon(query: string): string {
  return query.trim().replace(/;$/, '')
}
