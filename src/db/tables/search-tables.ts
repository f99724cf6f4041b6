import type { Generated, JSONColumnType, Selectable } from 'kysely'

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
