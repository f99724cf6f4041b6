import type { Generated, JSONColumnType } from 'kysely'

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
  created_at: Generated<Date>
  attempts: Generated<number>
  /** When it is sent; null once it was, once it was given up, and if nobody wants it. */
  next_at: Date | null
  told_at: Date | null
  /** Which of the receivers have taken it, if there are several. */
  taken_by: Generated<string[]>
  /** Receivers that asked to be left alone, and until when. */
  held_off: JSONColumnType<Record<string, string>, string | undefined, string>
  /** Why the last attempt failed. */
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

/**
 * `received`: stored, not looked at. `waiting`: names a task that a request without an answer may yet turn out to be.
 * `done`: it has had its effect, and never has another.
 */
type WebhookEventState = 'received' | 'waiting' | 'done'

/**
 * What an event did. `look`: its task was asked for at once. `in_flight`: nothing, its task goes on. `ended`: nothing,
 * the end of its task was known. `run_over`: nothing now; the next run looks at it. `not_ours`: nothing, no request of
 * ours became that task. `kept`: of an application. `test`, `unknown_topic`, `unreadable`: kept, and nothing else.
 */
export type WebhookEffect =
  | 'look'
  | 'in_flight'
  | 'ended'
  | 'run_over'
  | 'not_ours'
  | 'kept'
  | 'test'
  | 'unknown_topic'
  | 'unreadable'

/** An event that the service signed, once, however often it was delivered. What it says is never an outcome. */
export type WebhookEventTable = {
  event_id: string
  /** The order in which they came. */
  seq: Generated<number>
  destination_id: Generated<number>
  /** The body as it came. */
  payload: string
  deliveries: Generated<number>
  first_at: Generated<Date>
  last_at: Generated<Date>
  state: Generated<WebhookEventState>
  effect: WebhookEffect | null
  processed_at: Date | null
  topic: string | null
  /** Whether it tells that a task has ended. */
  ends: Generated<boolean>
  correlation_id: string | null
  /** Our request whose task it tells of. */
  submission_id: number | null
  application_id: string | null
  status: string | null
  profile_id: number | null
  api_key_id: string | null
  /** When the service says that it recorded it. */
  recorded_at: Date | null
}

/** Deliveries that were not taken, counted by day and by why. */
export type WebhookRefusalTable = {
  day: Date
  reason: string
  refused: number
  last_at: Date
}

/** What is known of the receivers of all processes; one row. */
export type WebhookReceiverTable = {
  one: Generated<boolean>
  /** Since when one listens without a longer break: what ended before can have been told to nobody. */
  since: Date
  /** When one was last known to listen. */
  heard_at: Date
  /** Whether polls may come less often, as found at `heard_at`. */
  trusted: Generated<boolean>
}
