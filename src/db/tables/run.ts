import type { Generated, JSONColumnType, Selectable } from 'kysely'

export type RunTrigger = 'schedule' | 'missed' | 'cli' | 'http'
export type RunState = 'running' | 'finished' | 'failed' | 'skipped'
export type Verdict = 'succeeded' | 'partial' | 'failed'

/** One execution of a job. At most one per job is running, and one exists per (job, scheduled_for). */
export type RunTable = {
  run_id: Generated<number>
  job: string
  trigger: RunTrigger
  scheduled_for: Date
  state: RunState
  step: string
  verdict: Verdict | null
  failure: JSONColumnType<RunFailure> | null
  report: JSONColumnType<object> | null
  resumed: Generated<number>
  /** The guard stopped it before anything was sent. */
  held: Generated<boolean>
  /** Where it sends to; the one in use as it began. */
  destination_id: Generated<number>
  started_at: Generated<Date>
  finished_at: Date | null
}

/** What stopped a run: a stable code, and a message that says what, where and what to do. */
export type RunFailure = { code: string; message: string; step: string }

export type Run = Selectable<RunTable>

/** How late commits are found: by the open transactions that the server shows, by the overlap alone, or not at all. */
export type CursorProtection = 'transactions' | 'overlap' | 'none'

/** What one run read of one stream; `read = folded + unchanged + changed`. */
export type RunStreamTable = {
  run_id: number
  stream: string
  read: number
  /** Partner rows that share a ledger row with another one read. */
  folded: number
  unchanged: number
  changed: number
  null_cursor: number
  capture: Generated<'cursor' | 'snapshot'>
  /** Null for a snapshot, which needs none. */
  protection: CursorProtection | null
  /** Ledger rows that this run found gone. */
  gone: Generated<number>
  /** Ledger rows that had been gone and are there again. */
  returned: Generated<number>
  /** Ledger rows of the stream that were pending once the extraction was done. */
  pending: number | null
  watermark_before: string | null
  watermark_after: string | null
  extracted_at: Generated<Date>
}

export type StreamWatermarkTable = {
  stream: string
  /** The cursor as the partner's server prints it: no precision is lost on the way through JavaScript. */
  watermark: string
  run_id: number
  moved_at: Generated<Date>
}
