import type { Generated, JSONColumnType } from 'kysely'

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
