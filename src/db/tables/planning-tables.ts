import type { Generated, JSONColumnType, Selectable } from 'kysely'

/** A property that may have rows ready for a kind of request: the planner looks at it next, and takes it out. */
export type CandidateTable = {
  run_id: number
  kind: string
  partner_id: string
}

/** Properties whose rows a submission released since the planner looked last. */
export type EndedSubmissionTable = {
  run_id: number
  kind: string
  /** Of which rows of other kinds, which required these, may be ready. */
  partner_ids: string[]
  /** Of which rows of the same kind may be ready: some were left for later, or are pending again. */
  unsettled_ids: string[]
}

/** That every row of a kind was looked over in a run, and all that might be ready became a candidate. */
export type KindSweepTable = {
  run_id: number
  kind: string
  swept_at: Generated<Date>
}

/** What the end of a request says about its size. */
export type SizeVerdict = 'succeeded' | 'failed' | 'too_large' | 'answer_lost'

/** Rows per request of a kind, and the request that moved or confirmed that number last. */
export type BatchSizeTable = {
  kind: string
  rows: number
  updated_at: Date
  submission_id: number
  request_rows: number
  /** From its acceptance to its end, in milliseconds; null where one of them is not known. */
  duration_ms: number | null
  verdict: SizeVerdict
  rows_before: number
}

export type BatchSize = Selectable<BatchSizeTable>

/** How many rows of a submission were ready only once another was accepted. */
export type SubmissionReleaseTable = {
  submission_id: number
  released_by: number
  rows: number
}

/** What rows are judged by: a version of the reference data, and our own rules. */
export type JudgingBasisTable = {
  basis: Generated<number>
  reference_version: number
  rules: JSONColumnType<object>
  made_at: Generated<Date>
}

/** What contradicts another row, and is invalid for it. */
type ContradictionKind = 'answered_and_declined' | 'two_frameworks' | 'two_partner_ids'

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
