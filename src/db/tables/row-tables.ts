import type { ColumnType, Generated, JSONColumnType, Selectable } from 'kysely'

/** What happened to one row, and how certain that is. */
export type OutcomeName = 'confirmed' | 'inferred' | 'rejected' | 'unknown'

/**
 * What the destination in use has taken of each ledger row: one line per row of `source_row`, made as that lands. A row
 * is pending while `wanted_hash` and `accepted_hash` differ; `accepted_hash` moves only when an outcome says accepted,
 * and is forgotten when its hotel becomes another company.
 */
export type AcceptanceTable = {
  row_id: number
  /** As in `source_row`, so that what is pending of a hotel is found without reading contents. */
  partner_id: string
  /** `source_row.desired_hash`, written with it. */
  wanted_hash: Buffer
  accepted_hash: Buffer | null
  /** The content that the service rejected: not sent again until it changes. */
  refused_hash: Buffer | null
  /** The content that preflight has judged. */
  checked_hash: Buffer | null
  /** By which reference data and rules it was judged: `judging_basis`; 0 for never. */
  judged_by: Generated<number>
  invalid_reason: string | null
  outcome: OutcomeName | null
  outcome_code: string | null
  outcome_reason: string | null
  outcome_submission: number | null
  outcome_at: Date | null
  accepted_at: Date | null
  /**
   * When a request last ended of which nobody knows whether the service took the row: without an outcome, or with a
   * rejection that is no proof. Null: none has since the row was accepted.
   */
  perhaps_taken_at: Date | null
  /** The retry that asks for a row which was rejected to be sent again; cleared as the next run begins. */
  retry_action: number | null
  /** The content that policies have sent again, and how often: other content has not been sent again yet. */
  resent_hash: Buffer | null
  resent_count: Generated<number>
}

type ReadOnly<T> = { [K in keyof T]: ColumnType<T[K], never, never> }

/** The view that shows every row with what was taken of it. */
export type LedgerView = ReadOnly<
  Selectable<SourceRowTable> &
    Omit<Selectable<AcceptanceTable>, 'wanted_hash'> & {
      /** The submission, planned or in flight, that holds the row. */
      held_by: number | null
      pending: boolean
      judged: boolean | null
      unjudged: boolean
    }
>

/** That a submission, planned or in flight, carries rows of a property: all those of the stream that it carries. */
export type HeldPropertyTable = {
  partner_id: string
  stream: string
  submission_id: number
  /** Whether something of the property was left for when the submission ends. */
  more: Generated<boolean>
}

/** Which company of the service a partner id stands for, as its mapping was confirmed. */
export type MappingTable = {
  partner_id: string
  company_id: string
  submission_id: number
  mapped_at: Generated<Date>
}

/** A mapping that moved to another company. */
export type MappingChangeTable = {
  partner_id: string
  changed_at: Generated<Date>
  company_before: string
  company_id: string
  submission_id: number
  /** Rows that were accepted for the old company and became pending again. */
  rows: number
}

/** What a company still holds of a hotel that is another company now. */
export type LeftBehindTable = {
  company_id: string
  row_id: number
  content: object
  accepted_at: Date
  submission_id: number | null
  left_at: Generated<Date>
}

export type GuardChange = 'new' | 'changed' | 'gone'

/**
 * What the partner wants at the service, whichever that is: one row per thing. What was taken of it is in `acceptance`.
 */
export type SourceRowTable = {
  row_id: Generated<number>
  stream: string
  partner_id: string
  /** What the row writes at the service, as text: unique within its stream. */
  row_key: string
  content: JSONColumnType<Record<string, unknown>>
  /** The first 16 bytes of the SHA-256 of the content. */
  desired_hash: Buffer
  /** Set while the partner yields several rows with this key, and nothing says which is newer: then it is invalid. */
  contradiction: string | null
  /** Of a row made of several: the names of the parts that contradict themselves, each with what was said of it. */
  contradicting_parts: JSONColumnType<Record<string, string>> | null
  /** The tombstone: since when the partner no longer has the row. Nothing of it is sent while it is set. */
  gone_at: Date | null
  /** The run whose plan holds the row until a person approves, and what would happen to it then. */
  guard_run: number | null
  guard_change: GuardChange | null
  first_seen_at: Generated<Date>
  changed_at: Generated<Date>
}

export type SourceRow = Selectable<SourceRowTable>

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

/** What rows are judged by: a version of the reference data, and our own rules. */
export type JudgingBasisTable = {
  basis: Generated<number>
  reference_version: number
  rules: JSONColumnType<object>
  made_at: Generated<Date>
}

/** What contradicts another row, and is invalid for it. */
type ContradictionKind = 'answered_and_declined' | 'two_frameworks' | 'two_partner_ids' | 'two_spellings'

/** What looks wrong and is sent all the same. */
export type WarningKind = 'partner_ids_alike' | 'coordinates_zero' | 'field_type_unseen'

/** What preflight found of a row beside its own verdict. */
export type RowFindingTable = {
  row_id: number
  kind: ContradictionKind | WarningKind
  /** The row that it contradicts, and what both said then: when one says something else, the row is judged again. */
  other_row_id: number | null
  row_hash: Buffer | null
  other_hash: Buffer | null
  detail: string
  found_at: Generated<Date>
  /** When the partner was last asked for all rows of the hotels of a contradiction. */
  asked_at: Date | null
}
