import type { Generated, Selectable } from 'kysely'

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
