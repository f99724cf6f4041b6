import type { Generated, JSONColumnType, Selectable } from 'kysely'

/** What happened to one row, and how certain that is. */
export type OutcomeName = 'confirmed' | 'inferred' | 'rejected' | 'unknown'

export type GuardChange = 'new' | 'changed' | 'gone'

/**
 * The ledger: one row per thing that the partner wants at the service. It is pending while
 * `desired_hash` and `accepted_hash` differ; `accepted_hash` moves only when an outcome says accepted.
 */
export type SourceRowTable = {
  row_id: Generated<number>
  stream: string
  partner_id: string
  /** What the row writes at the service, as text: unique within its stream. */
  row_key: string
  content: JSONColumnType<Record<string, unknown>>
  desired_hash: Buffer
  accepted_hash: Buffer | null
  /** The content that the service rejected: not sent again until it changes. */
  refused_hash: Buffer | null
  /** The content that preflight has judged. */
  checked_hash: Buffer | null
  /** By which reference data and rules it was judged: `judging_basis`; 0 for never. */
  judged_by: Generated<number>
  invalid_reason: string | null
  /** Set while the partner yields several rows with this key, and nothing says which is newer: then it is invalid. */
  contradiction: string | null
  /** The submission, planned or in flight, that holds the row. */
  held_by: number | null
  outcome: OutcomeName | null
  outcome_code: string | null
  outcome_reason: string | null
  outcome_submission: number | null
  outcome_at: Date | null
  accepted_at: Date | null
  /** The retry that asks for a row which was rejected to be sent again; cleared as the next run begins. */
  retry_action: number | null
  /** The content that policies have sent again, and how often: other content has not been sent again yet. */
  resent_hash: Buffer | null
  resent_count: Generated<number>
  /** The tombstone: since when a snapshot no longer brings the row. Nothing of it is sent while it is set. */
  gone_at: Date | null
  /** The run whose plan holds the row until a person approves, and what would happen to it then. */
  guard_run: number | null
  guard_change: GuardChange | null
  first_seen_at: Generated<Date>
  changed_at: Generated<Date>
}

export type SourceRow = Selectable<SourceRowTable>

/** Which company of the service a partner id stands for, as its mapping was confirmed. */
export type MappingTable = {
  partner_id: string
  company_id: string
  submission_id: number
  mapped_at: Generated<Date>
}
