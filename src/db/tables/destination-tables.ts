import type { Generated, Selectable } from 'kysely'

/**
 * A service, the profile that the key acts as there, and the identifier under which it names companies. What one took
 * is true of no other.
 */
export type DestinationTable = {
  destination_id: Generated<number>
  /** What people call it. */
  name: string
  /** Scheme, host and port; null before anything was sent. */
  origin: string | null
  custom_identifier_id: string | null
  /** Where its tables wait while another is in use; null: it is in use. */
  schema_name: string | null
  made_at: Generated<Date>
  used_since: Generated<Date>
  left_at: Date | null
}

export type Destination = Selectable<DestinationTable>

/** `certain`: what only its owner has shows it; `likely`: what it may use does; `told`: a person said so. */
export type ProfileCertainty = 'certain' | 'likely' | 'told'

/** A key of the destination's profile, by its fingerprint, and why it is believed to be one. */
export type DestinationKeyTable = {
  destination_id: number
  fingerprint: string
  profile_certainty: ProfileCertainty
  evidence: string | null
  known_since: Generated<Date>
}

/** What all processes that use one API key share. Times are the database's: no two processes have the same clock. */
export type ServiceKeyTable = {
  /** Tells keys apart and gives none of them away. */
  fingerprint: string
  /** When the next call that nobody has reserved may begin. */
  next_call_at: Generated<Date>
  /** The service asked to wait until then (429). */
  paused_until: Date | null
  /** When a call was last admitted: the newest row is the key in use. */
  used_at: Generated<Date>
  /** The breaker: since when the service answers 401; null while it accepts the key. */
  open_since: Date | null
  /** The service's own code and words of its last 401. */
  refusal_code: string | null
  refusal_message: string | null
  /** While the breaker is open: when the next probe may go out. */
  probe_at: Date | null
  /**
   * The service's clock minus the database's, in milliseconds: between these two, as measured on a call at `skew_at`.
   */
  skew_low_ms: number | null
  skew_high_ms: number | null
  skew_at: Date | null
  /** What the service calls the key: the `apiKeyId` of tasks that were submitted with it. */
  api_key_id: string | null
}
