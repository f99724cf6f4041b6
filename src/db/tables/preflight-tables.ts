import type { Generated, JSONColumnType } from 'kysely'

/** What rows are judged by: a version of the reference data, and our own rules. */
export type JudgingBasisTable = {
  basis: Generated<number>
  reference_version: number
  rules: JSONColumnType<object>
  made_at: Generated<Date>
}

/** What contradicts another row, and is invalid for it. */
type ContradictionKind = 'answered_and_declined' | 'two_frameworks' | 'two_partner_ids'

/** What looks wrong and is sent all the same. */
export type WarningKind = 'partner_ids_alike' | 'coordinates_zero' | 'field_type_unseen'

/** What preflight found of a row beside its own verdict. */
export type RowFindingTable = {
  row_id: number
  kind: ContradictionKind | WarningKind
  /** The row that it contradicts, and what both said then: when one says something else, the row is judged again. */
  other_row_id: number | null
  row_hash: Buffer | null
  other_hash: Buffer | null
  detail: string
  found_at: Generated<Date>
  /** When the partner was last asked for all rows of the hotels of a contradiction. */
  asked_at: Date | null
}
