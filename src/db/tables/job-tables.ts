import type { Generated } from 'kysely'

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
