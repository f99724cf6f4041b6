import type { Generated } from 'kysely'

/**
 * Lines of a stream's last snapshot, each by a hash of 128 bits, and the ledger row that it belongs to. Several lines
 * may belong to one row: the inputs of a calculator.
 */
export type SnapshotLineTable = { stream: string; bucket: number; high: string; low: string; row_id: number }

/** Sums of the hashes of a bucket's lines: an equal bucket holds the same lines as before. */
export type SnapshotBucketTable = { stream: string; bucket: number; lines: number; high_sum: string; low_sum: string }

/** The last snapshot of a stream; how many of its lines shared a ledger row with another. */
export type StreamSnapshotTable = { stream: string; folded: number; run_id: number; read_at: Generated<Date> }

/** Ledger rows that the partner yields without a cursor. */
export type NullCursorRowTable = { row_id: number; since: Generated<Date> }
