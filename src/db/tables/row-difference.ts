import type { Generated, Selectable } from 'kysely'

/** One comparison of what was sent of one kind with what came back. */
export type RowComparisonTable = {
  run_id: number
  /** `answers`, `property_values`, `standard_holders` or `mappings`. */
  kind: string
  /** The search that it was compared with; null where there was none. */
  submission_id: number | null
  compared_at: Generated<Date>
  /** Why nothing was compared, or null. */
  withheld: string | null
  /** Not one row was found as it was sent: a person should look whether all was lost. */
  suspicious: boolean
  /** Settled rows that were compared: equal + absent + different + unjudged. */
  rows: number
  equal: number
  absent: number
  different: number
  unjudged: number
  /** Rows that are pending, rejected, on the way or gone. */
  unsettled: number
  /** Of the absent and the different ones: those that no run before found so. */
  new: number
}

export type RowComparison = Selectable<RowComparisonTable>

/** A row that the service accepted and does not show as it was sent. */
export type RowDifferenceTable = {
  row_id: number
  comparison: string
  kind: 'absent' | 'different'
  company_id: string
  sent: string
  stored: string | null
  cause: 'company_not_returned' | 'value_not_returned' | null
  /** When the service says that what it shows was changed; null where it does not say. */
  changed_there_at: Date | null
  found_by_run: number
  found_at: Generated<Date>
  /** The run after which the row was to be sent again over it. */
  resent_by_run: number | null
}

/** What a comparison found and did not have sent again, for it is more than the guard lets through. */
export type RepairHeldTable = { run_id: number; stream: string; kind: 'absent' | 'different'; rows: number }

/** Of every kind, calculator inputs included, what `nightferry differences` lists. */
export type DifferencesView = {
  stream: string
  kind: 'absent' | 'different'
  partner_id: string
  company_id: string
  row_key: string
  variable_name: string | null
  sent: string | null
  stored: string | null
  cause: string | null
  accepted_at: Date | null
  submission_id: number | null
  changed_there_at: Date | null
  found_by_run: number
  found_at: Date
  resent_by_run: number | null
}
