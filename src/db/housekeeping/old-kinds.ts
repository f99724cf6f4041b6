import { type RawBuilder, sql } from 'kysely'

/**
 * What housekeeping removes, by the name that its report has for it, in the order in which it is removed: what names
 * requests and runs goes before them, since they stay for as long as something names them.
 */
export const oldKinds = [
  'payloads',
  'value_changes',
  'removed_values',
  'past_contents',
  'reports',
  'submission_rows',
  'submissions',
  'runs',
  'webhook_events',
  'application_events',
  'queue',
  'notifications',
  'job_requests',
] as const
export type OldKind = (typeof oldKinds)[number]

/** What a dry run says of a kind. `bytes`: what the rows take, without indexes. */
export type OldCount = { rows: number; oldest: Date | null; bytes: number }

/** How many went, and where the next batch goes on; null: none is left. */
export type Removed = { rows: number; next: number | null }

/** Rows of one statement: few enough that nobody waits long for its locks. */
export const batchRows = 5_000

/** Submissions that have ended: nothing of theirs is read by a run any more. */
export const endedStates: readonly string[] = ['settled', 'refused', 'lost', 'abandoned']

/** When a submission, which the query calls `s`, ended. */
export const submissionEnded = sql<Date>`coalesce(s.settled_at, s.attempted_at, s.planned_at)`

/** Rows of a table of their own that go one by one: what they are called in the condition is `old`. */
export type PlainKind = {
  table: string
  /** The table's key, to delete by. */
  key: readonly string[]
  at: string
  condition: (before: Date) => RawBuilder<boolean>
}
