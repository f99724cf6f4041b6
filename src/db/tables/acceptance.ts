import type { ColumnType, Generated, Selectable } from 'kysely'
import type { SourceRowTable } from './source-row.ts'

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

/** That a submission, planned or in flight, holds rows of a property: all those of the stream that it carries. */
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
