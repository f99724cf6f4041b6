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
