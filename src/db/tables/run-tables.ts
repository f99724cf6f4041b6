import type { Generated, JSONColumnType, Selectable } from 'kysely'
import type { GuardChange } from './row-tables.ts'

export type RunTrigger = 'schedule' | 'missed' | 'cli' | 'http' | 'table' | 'notify'
type RunState = 'running' | 'finished' | 'failed' | 'skipped'
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
  /** What the run is to do, where that is not all that its job does. */
  asked: Generated<RunAsked>
  /** Who asked for it; null of one that the schedule started. */
  asked_by: string | null
  /** The guard stopped it before anything was sent. */
  held: Generated<boolean>
  /** Whether it carried the data through; null unless it finished, and of runs before this was kept. */
  carried: boolean | null
  /** Where it sends to; the one in use as it began. */
  destination_id: Generated<number>
  /**
   * Which copy of our database it ended in; null where the server does not tell, while it runs, and of runs that send
   * no rows (earlier versions noted it of these as well).
   */
  own_database: Generated<string | null>
  /** Imports of our key that the ledger did not know as the run began. */
  unknown_tasks: JSONColumnType<UnknownTasks> | null
  /** When the server of our database had started under which the service's tasks were compared; null before. */
  tasks_checked_under: Date | null
  started_at: Generated<Date>
  finished_at: Date | null
}

/** How many, and the newest of them. */
export type UnknownTasks = { count: number; correlation_id: string; created_at: string }

/**
 * `only`: these steps of the job, beside those that every run needs. `streams`: what is read and sent is theirs alone.
 * `since`: rows are read again from this cursor or time on.
 */
export type RunAsked = { only?: string[]; streams?: string[]; since?: string }

/** What stopped a run: a stable code, and a message that says what, where and what to do. */
export type RunFailure = { code: string; message: string; step: string }

export type Run = Selectable<RunTable>

/** How late commits are found: by the open transactions that the server shows, by the overlap alone, or not at all. */
export type CursorProtection = 'transactions' | 'overlap' | 'none'

/**
 * Why late commits cannot be told by the transactions that the server shows: it is a `standby`, sessions do not say
 * what they do (`track_activities`), our role may not see those of others (`privilege`), rows come from another server
 * by a subscription (`subscriber`), or a transaction is prepared, of which nothing tells when it began (`prepared`).
 */
export type ProtectionLack = 'standby' | 'track_activities' | 'privilege' | 'subscriber' | 'prepared'

/**
 * Why a stream was read whole instead of from its watermark: it never was (`first`), no row has a cursor
 * (`no_watermark`), `fullEvery` has passed (`due`), a person asked (`reread`), its `capture`, its `cursor` or its
 * `query` was changed in the configuration, a `lookup` of it was changed there or in its file, another `server`
 * answers, its `clock` was put back, the newest row known is not where it was (`newest_row`; `cleared` where only what
 * changed lately is yielded, so that nothing is wrong), the guard `held` what the run before read from the watermark
 * on, or what it brought in part (`partial`) is of too many hotels to ask for: calculators, or keys of which it brought
 * only rows without a cursor that differ from the ledger.
 */
export type WholeReason =
  | 'first'
  | 'no_watermark'
  | 'due'
  | 'reread'
  | 'capture'
  | 'cursor'
  | 'query'
  | 'lookup'
  | 'server'
  | 'clock'
  | 'newest_row'
  | 'cleared'
  | 'held'
  | 'partial'

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
  /**
   * Why all of the stream was read and compared, and what exactly was found; null where it was read from its watermark.
   */
  whole: Generated<WholeReason | null>
  whole_detail: Generated<string | null>
  lacks: Generated<ProtectionLack | null>
  /** Hotels whose rows contradicted each other, and were read once more. */
  hotels_asked: Generated<number>
  extracted_at: Generated<Date>
}

export type StreamWatermarkTable = {
  stream: string
  /** The cursor as the partner's server prints it: no precision is lost on the way through JavaScript. */
  watermark: string
  /** The column that it was taken from, and its type as the dialect calls it; null before they were kept. */
  cursor: string | null
  cursor_type: string | null
  /** The key of a row that carried it: as long as the partner's time runs forward, this row is found at or past it. */
  witness: string | null
  run_id: number
  moved_at: Generated<Date>
  /** How far the partner's clock was ahead of our own database's then, in milliseconds; null before it was kept. */
  partner_ahead_ms: number | null
}

/** How a stream was last read. */
export type StreamReadingTable = {
  stream: string
  /** Null before the first reading. */
  capture: 'cursor' | 'snapshot' | null
  /** The partner's server and database, as far as it says which they are. */
  server: string | null
  /**
   * When all rows of the stream were last read and compared, so that what is gone was seen, and not held by the guard.
   */
  whole_at: Date | null
  /** Why the next run is to read all of them. */
  whole_wanted: WholeReason | null
  /** Of the query by which it was read, with its columns and key; null of a reading before these were kept. */
  query_digest: string | null
  /** The lookups by which it was read, by column; null of a reading before there were any. */
  lookups: JSONColumnType<LookupsRead> | null
}

/** A lookup as it was when a stream was read by it. */
export type LookupReading = { lookup: string; file: string; digest: string; codes: number }

/** The lookups of a stream, by the column whose codes they translate. */
export type LookupsRead = Readonly<Record<string, LookupReading>>

/** One of the rows that a plan is about, as an example: what is known here, and what the partner has now. */
export type GuardExample = {
  partner_id: string
  row_key: string
  change: GuardChange
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** What a run was stopped over, stream by stream, until a person approves or a later run judges the stream again. */
export type GuardPlanTable = {
  run_id: number
  stream: string
  /** `share`: too large a part of the rows; `empty`: the partner has no row at all, and there are some here. */
  reason: 'share' | 'empty'
  /** Rows of the stream that were here and not gone when the run judged. */
  known: number
  new: number
  changed: number
  gone: number
  examples: JSONColumnType<GuardExample[]>
  state: 'waiting' | 'approved' | 'superseded'
  planned_at: Generated<Date>
  approved_at: Date | null
  approved_by: string | null
}

export type GuardPlan = Selectable<GuardPlanTable>

/** What a person did that is written down: changed what happens next, or who may read. */
export const actionVerbs = [
  'retry',
  'abandon',
  'adopt',
  'cancel',
  'grant',
  'revoke',
  'destination',
  'resend',
  'repair',
  'reread',
  'reference',
  'accept-removals',
  'restore',
  'approve',
  'pause',
  'resume',
  'suspend',
  'pilot',
  'end-pilot',
] as const
export type ActionVerb = (typeof actionVerbs)[number]

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

/** A job that nobody and nothing starts until a person resumes it. */
export type JobPauseTable = {
  job: string
  reason: string | null
  paused_by: string
  paused_at: Generated<Date>
}

/**
 * `waiting`: nobody has taken it up, or another job has to end first. `started`: it began a run. `joined`: one was
 * under way already. `refused`: nothing will come of it, for the reason given.
 */
type JobRequestState = 'waiting' | 'started' | 'joined' | 'refused'

/** The schedule of a job as a daemon saw it last. */
export type JobScheduleTable = {
  job: string
  /** Empty: it had none. */
  schedule: string
  time_zone: string
  /** What fell due before was not to be run; null: it is not in force. */
  since: Date | null
}

/** What somebody with access to the database asks for by inserting a row. */
export type JobRequestTable = {
  request_id: Generated<number>
  job: string
  /** The steps that are wanted; null: all. */
  only_steps: string[] | null
  /** The streams that are wanted; null: all. */
  streams: Generated<string[] | null>
  /** The cursor or time from which rows are read again; null: from where the run before ended. */
  since: Generated<string | null>
  requested_by: Generated<string>
  requested_at: Generated<Date>
  state: Generated<JobRequestState>
  run_id: number | null
  reason: string | null
  answered_at: Date | null
}

/** How long a step of a run took that is done. */
export type RunStepTable = {
  run_id: number
  step: string
  began_at: Date
  ended_at: Date
}

/** The occurrence of a schedule that a daemon saw in time, and that waits for the run of another job. */
export type JobWaitingTable = {
  job: string
  due: Date
  noted_at: Generated<Date>
}

/** Runs that housekeeping has removed. */
export type RunTallyTable = {
  job: string
  verdict: string
  runs: number
}

/** `heartbeat` is for a monitor, the others are for people. */
export type NotificationEvent = 'failed' | 'partial' | 'late' | 'slow' | 'recovered' | 'heartbeat'

/** What people were or are to be told of a run. */
export type NotificationTable = {
  notification_id: Generated<number>
  job: string
  /** Null of a run that is late and has not begun. */
  run_id: number | null
  event: NotificationEvent
  /** Of which destination it tells; what is known of one says nothing about another. */
  destination_id: Generated<number>
  /** What is told once as long as it lasts. */
  cause: string
  message: JSONColumnType<object>
  /** How much of each kind there was when it was told, or since then at the least; null where nothing is counted. */
  amounts: JSONColumnType<Readonly<Record<string, number>>> | null
  created_at: Generated<Date>
  attempts: Generated<number>
  /** When it is sent to those who lack it; null once none does, once it was given up, and if nobody wants it. */
  next_at: Date | null
  /** When the first of its receivers took it. */
  told_at: Date | null
  /** The receivers that have taken it. */
  taken_by: Generated<string[]>
  /** Receivers that asked to be left alone, and until when. */
  held_off: JSONColumnType<Record<string, string>, string | undefined, string>
  /** Why those who lack it do. */
  error: string | null
}

/** Up to which run the ends of a job's runs were judged. */
export type NotificationMarkTable = {
  job: string
  run_id: number
  /** The moment for which a run was found late. */
  late_for: Date | null
  /** The run of which people were told that it would end after its deadline. */
  slow_run: Generated<number | null>
  since: Generated<Date>
}
