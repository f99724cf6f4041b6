import type { Generated, JSONColumnType } from 'kysely'

/** What a person did that is written down: changed what happens next, or who may read. */
export type ActionVerb =
  | 'retry'
  | 'abandon'
  | 'adopt'
  | 'cancel'
  | 'grant'
  | 'revoke'
  | 'destination'
  | 'resend'
  | 'repair'
  | 'reread'
  | 'accept-removals'
  | 'restore'
  | 'approve'
  | 'pause'
  | 'resume'

/** One thing that a person did: never changed afterwards, but for the service's answer. */
export type ActionTable = {
  action_id: Generated<number>
  verb: ActionVerb
  acted_by: string
  host: string
  acted_at: Generated<Date>
  submission_id: number | null
  correlation_id: string | null
  rows: number
  /** What the command line asked for. */
  asked: JSONColumnType<Record<string, string>>
  /** Null while the service has not answered. */
  result: string | null
}

/** What a ledger row said before a change of its content. Written by a trigger. */
export type RowChangeTable = {
  row_id: number
  changed_at: Generated<Date>
  content_before: JSONColumnType<Record<string, unknown>>
  hash_before: Buffer
}
