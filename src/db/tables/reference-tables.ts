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
