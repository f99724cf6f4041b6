import type { Generated, JSONColumnType } from 'kysely'

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
