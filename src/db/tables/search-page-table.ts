import type { Generated, Selectable } from 'kysely'

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
