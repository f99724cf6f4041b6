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
