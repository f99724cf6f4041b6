import { type Generated, type JSONColumnType, type Selectable, sql } from 'kysely'
import type { OutcomeName } from './row-tables.ts'

const unfinished = ['planned', 'sending', 'uncertain', 'accepted', 'terminal'] as const
const ended = ['settled', 'refused', 'lost', 'abandoned'] as const

export type SubmissionState = (typeof unfinished)[number] | (typeof ended)[number]

/** States in which a submission holds its rows and work is still to be done. */
export const unfinishedStates: readonly SubmissionState[] = unfinished

/** States in which nothing of a submission is read by a run any more. */
export const endedStates: readonly SubmissionState[] = ended

/**
 * The same of the `submission` of a query. As literals, in the words of the index `submission_unfinished`, which a
 * parameter would not always lead to.
 */
export const isUnfinished = sql<boolean>`submission.state in (${sql.join(unfinished.map((state) => sql.lit(state)))})`

/** The same of those that have ended. */
export const isEnded = sql<boolean>`submission.state in (${sql.join(ended.map((state) => sql.lit(state)))})`

/** What a search for calculators asks for; of no types it asks for all. */
export type SearchAsked = { customPropertyIds: readonly string[]; calculatorTypeIds: readonly string[] }

/** One bulk request of ours; its correlation id names the service's task. */
export type SubmissionTable = {
  submission_id: Generated<number>
  run_id: number
  kind: string
  /** What requests of a kind are kept apart by: the framework of answers, the name of a search, else ''. */
  partition: Generated<string>
  state: SubmissionState
  row_count: number
  /** The request that this one is a part of, the first of all that it is a part of, and how often that was split. */
  parent_id: number | null
  root_id: number | null
  depth: Generated<number>
  correlation_id: string | null
  attempts: Generated<number>
  /** POSTs made again because the answer of an earlier one was lost. */
  repeats: Generated<number>
  /** Consecutive calls that failed with `error_code`, in a way that says nothing about the submission. */
  failures: Generated<number>
  failing_since: Date | null
  polls: Generated<number>
  /** Number of the newest look that was put off to a later time; older ones are void. */
  timer: Generated<number>
  task_status: string | null
  task: JSONColumnType<object> | null
  /** Bytes of the exact body, not compressed; null until it is written. Its pieces are in `submission_payload`. */
  payload_bytes: number | null
  error_code: string | null
  error_message: string | null
  /** The first of what the service said that matches no row, with the reason. */
  unmatched: JSONColumnType<object[]> | null
  /** How much there is of it in all. */
  unmatched_count: Generated<number>
  /** The outcome of the rows that it carried, but for those whose own line says another. */
  rest_outcome: OutcomeName | null
  rest_code: string | null
  rest_reason: string | null
  /** While the answer is lost: what the task list has shown so far. */
  listed: JSONColumnType<ListedTasks> | null
  /** Of a search that is done: what it proved absent, or why it proves nothing. */
  search_result: JSONColumnType<SearchResult> | null
  /**
   * Of a search: what it asks for, from when its body is written: a `SearchAsked`, or the body of a search for
   * documents.
   */
  asked: JSONColumnType<Record<string, unknown>> | null
  /** Of a search: whether the changes of values that it brings are recorded. */
  history: Generated<boolean>
  planned_at: Generated<Date>
  attempted_at: Date | null
  /** When the answer of its latest POST was found to be lost. */
  uncertain_since: Date | null
  /** Since when every answer to its POST was lost; null while none is, or once one came. */
  answers_lost_since: Date | null
  /** When the service last said, and it counted, that it does not know its task: `oneMoreDenial`. */
  denied_at: Date | null
  accepted_at: Date | null
  polled_at: Date | null
  terminal_at: Date | null
  settled_at: Date | null
  /** The service refused it with 413: its rows go out again in smaller requests. */
  too_large: Generated<boolean>
  /** The row that is too large even alone, where one is known: then the size of the request says nothing. */
  too_large_row: number | null
  /** Since when runs end without it: what it waits for at the service has not ended within exchange.taskPatienceMs. */
  overdue_since: Date | null
  /** The first status of its task that the contract does not name. */
  unknown_status: string | null
  /** While it is judged what of it the service refused, and afterwards: what was said. */
  refusal: JSONColumnType<StoredRefusal> | null
  /** From its latest attempt on: the lowest that the service's clock minus ours was found to be, in milliseconds. */
  skew_low_ms: number | null
  /** The key that its latest attempt was made with. */
  key_fingerprint: string | null
}

/**
 * A refusal that may be over one of many rows, and what came of judging it. `status`: null where the answers were lost
 * however often the request was sent.
 */
export type StoredRefusal = { status: number | null; code: string; reason: string; message: string; verdict?: string }

/** What was tombstoned: by the calculator search companies and calculators, by others documents. */
type SearchResult = { withheld: boolean; reason: string | null } & (
  | {
      companies: number
      calculators: number
      /** Not in searches that ended before this was kept. */
      values?: number
      /** Not in searches that ended before this was kept. */
      left_out_properties?: LeftOutProperty[]
    }
  | {
      documents: number
      /** Lists in which nothing was tombstoned, while others prove absence. */
      lists?: string[]
    }
)

/** A custom property that a search asked for, or will, and does not get. */
export type LeftOutProperty = {
  property_id: string
  name: string | null
  owner: string | null
  /** `not_owned`, `unknown`: the reference data say so; `unexplained`: they do not. */
  why: 'not_owned' | 'unknown' | 'unexplained'
}

/** What the task list showed when it was read last for a submission whose answer is lost. */
export type ListedTasks = {
  /** Tasks that may be the submission's: asked for by id once they are no longer listed. */
  candidates: string[]
  /** How often in a row the service said of a candidate that it knows no such task, and when it last counted. */
  denials?: Record<string, { times: number; at: string }>
  /** How many the list had. */
  length?: number
  /** The newest ones of the list, no matter whose: the next reading must show one of them to have missed nothing. */
  newest: string[]
  /** Whether every reading so far reached back to the one before, and the first to the attempt. */
  unbroken: boolean
}

export type Submission = Selectable<SubmissionTable>

/** The exact body of a submission: one gzip stream, cut into pieces. */
export type SubmissionPayloadTable = {
  submission_id: number
  /** From 1. */
  ordinal: number
  piece: Buffer
}

export type SubmissionRowTable = {
  submission_id: number
  row_id: number
  /** The content hash that the request carries; set when it is planned, and again when its payload is written. */
  sent_hash: Buffer | null
  /** Null as well where the submission's `rest_outcome` says it. */
  outcome: OutcomeName | null
  code: string | null
  reason: string | null
}

/** Per-company outcomes of a result file, between its download and the settlement. */
export type StagedOutcomeTable = {
  submission_id: number
  /** Null: the element names none. */
  partner_id: string | null
  /** Null: the file names the company with a status we do not know. */
  accepted: boolean | null
  company_id: string | null
  code: string | null
  reason: string | null
  /** Errors of single fields, where the element lists them. */
  field_errors: JSONColumnType<FieldError[]> | null
}

/** What a result file says of one field; null: it does not say of which. */
export type FieldError = { field: string | null; reason: string }

/** A property that may have rows ready for a kind of request: the planner looks at it next, and takes it out. */
export type CandidateTable = {
  run_id: number
  kind: string
  partner_id: string
  /** That its next rows belong to, which cuts have found and not carried; null: nobody has looked at it. */
  partition: string | null
  /** How many these are, whether it has others, and what the service knows it as. */
  rows: number | null
  others: boolean | null
  target: string | null
}

/** A row that a cut has found ready and did not carry. */
export type CandidateRowTable = {
  run_id: number
  kind: string
  partner_id: string
  partition: string
  row_id: number
}

/** Properties whose rows a submission released since the planner looked last. */
export type EndedSubmissionTable = {
  run_id: number
  kind: string
  /** Of which rows of other kinds, which required these, may be ready. */
  partner_ids: string[]
  /** Of which rows of the same kind may be ready: some were left for later, or are pending again. */
  unsettled_ids: string[]
  /** Of which rows that it carried may go out in the same run. */
  again_ids: Generated<string[]>
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
