import type { JSONColumnType } from 'kysely'

export type ReferenceKind = 'unit_type' | 'group' | 'custom_property' | 'framework'

/** The service's reference data as last fetched. */
export type ReferenceDataTable = {
  kind: ReferenceKind
  id: string
  document: JSONColumnType<object>
  fetched_at: Date
  changed_at: Date
}
