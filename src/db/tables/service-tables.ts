import type { Generated, JSONColumnType, Selectable } from 'kysely'

export type ReferenceKind = 'unit_type' | 'group' | 'custom_property' | 'framework'

/** The service's reference data as last fetched. */
export type ReferenceDataTable = {
  kind: ReferenceKind
  id: string
  document: JSONColumnType<object>
  fetched_at: Date
  changed_at: Date
  /** The version that brought the document as it stands. */
  version: Generated<number>
}

export type ReferenceItem = 'document' | 'question' | 'data_point' | 'option' | 'unit'

/** One thing that a version changed: a document as a whole, or something in it. */
export type ReferenceChange = {
  kind: ReferenceKind
  document_id: string
  document_name: string
  item: ReferenceItem
  item_id: string
  item_name: string
  /** The data point of an option or a unit. */
  within_id: string | null
  change: 'added' | 'removed' | 'changed'
  /** From what to what. */
  detail: string | null
}

/** Every fetch that differs from the one before makes a version. */
export type ReferenceVersionTable = {
  version: number
  /** The run that fetched it first; null where a person's verb did. */
  run_id: number | null
  fetched_at: Date
  /** When a fetch last brought the same. */
  confirmed_at: Date
  documents: number
  changes: number
  /** Who accepted it, where it had so little that it was not taken first. */
  accepted_by: string | null
}
export type ReferenceVersion = Selectable<ReferenceVersionTable>

export type ReferenceChangeTable = ReferenceChange & { version: number; ordinal: number }

/** A document as it stood from one version until another. */
export type ReferencePastTable = {
  kind: ReferenceKind
  id: string
  from_version: number
  until_version: number
  document: JSONColumnType<object>
}

/** A fetch that brought so little that it was not taken: at most one row. */
export type ReferenceWithheldTable = {
  singleton: Generated<boolean>
  run_id: number | null
  /** What came, and of how much: what a person accepts is this. */
  reason: string
  first_seen_at: Date
  last_seen_at: Date
  times: number
  accepted_at: Date | null
  accepted_by: string | null
}
export type UntakenReference = Selectable<ReferenceWithheldTable>

/** One result file of a search. */
export type SearchPageTable = {
  page_id: Generated<number>
  submission_id: number
  ordinal: number
  url: string
  state: 'listed' | 'loaded' | 'failed'
  companies: Generated<number>
  calculators: Generated<number>
  values: Generated<number>
  /** Calculator values that were not here before, that differ from before, that the page leaves out. */
  added: Generated<number>
  changed: Generated<number>
  removed: Generated<number>
  quarantined: Generated<number>
  /** Companies whose bytes were those of the last time. */
  unchanged: Generated<number>
  /** The custom properties that the page named, in lower case; null while that is not known. */
  listed_property_ids: string[] | null
  /** Why the page was loaded with care; null if it was not. */
  care: string | null
  /** Of searches other than that for calculators: elements that can be stored, and left out ones without an id. */
  documents: Generated<number>
  unidentified: Generated<number>
  bytes: Generated<number>
  failures: Generated<number>
  /** Since when every attempt failed over trouble that passes; null: the last one did not. */
  failing_since: Generated<Date | null>
  /** Its address was renewed, and only the place in the list said that it is this page's. */
  guessed: Generated<boolean>
  error_code: string | null
  error_message: string | null
  loaded_at: Date | null
}

export type SearchPage = Selectable<SearchPageTable>

/**
 * An element of a list on the pages of a search other than that for calculators, as the last page that had it gave it.
 */
export type DocumentTable = {
  document_key: Generated<number>
  /** The name of the search in the configuration. */
  search: string
  list: string
  /** Its id within the list; `sha256:` and a hash of its content where it has none. */
  document_id: string
  content_hash: Buffer
  document: JSONColumnType<object>
  first_seen_at: Generated<Date>
  changed_at: Generated<Date>
  /** The tombstone: set while a complete search does not return it. */
  removed_at: Date | null
  /** When a page last showed it while it had a tombstone. */
  returned_at: Generated<Date | null>
}

/** What the pages of one search have shown so far: the ground on which absence is judged. */
export type SearchSeenDocumentTable = {
  submission_id: number
  document_key: number
  /** The page whose content of it is stored; null where none could be stored. */
  page_ordinal: number | null
}

/** The view that people query. */
export type DocumentsView = {
  search: string
  list: string
  document_id: string
  document: unknown
  first_seen_at: Date
  changed_at: Date
  removed_at: Date | null
}

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
  /** In front of the endpoints' paths, empty where nothing is; null: not known, as of one from before it was kept. */
  path: string | null
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
