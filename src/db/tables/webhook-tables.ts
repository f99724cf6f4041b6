import type { Generated } from 'kysely'

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
