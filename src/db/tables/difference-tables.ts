import type { Generated, Selectable } from 'kysely'

export const differenceKinds = ['absent', 'different', 'foreign'] as const
export type DifferenceKind = (typeof differenceKinds)[number]

/** Why an accepted input is absent, as far as that can be told from what came back. */
export type AbsenceCause = 'mapped_since' | 'company_not_returned' | 'period_not_returned' | 'value_not_returned'

/** One comparison of what was sent with what came back; see docs/glossary.md for the words. */
export type InputComparisonTable = {
  run_id: number
  /** The search whose pages it was compared with. */
  submission_id: number
  compared_at: Generated<Date>
  /** Why nothing was compared, or null. */
  withheld: string | null
  /** Inputs of ours that were compared: equal + written_differently + unjudged + absent + different. */
  inputs: Generated<number>
  equal: Generated<number>
  written_differently: Generated<number>
  unjudged: Generated<number>
  absent: Generated<number>
  different: Generated<number>
  /** Of the absent and the different ones: those that no run before found so. */
  new: Generated<number>
  /** Not compared: inputs of rows that are pending, refused, on the way or gone. */
  unsettled: Generated<number>
  foreign_values: Generated<number>
  foreign_companies: Generated<number>
  /** Stored values of fields of which we never send any. */
  other_fields: Generated<number>
  /** Not compared: companies of which a part of a page was left out. */
  left_out_companies: Generated<number>
}

export type InputComparison = Selectable<InputComparisonTable>

export type InputDifferenceTable = {
  kind: DifferenceKind
  company_id: string
  period_year: number
  period_month: number | null
  variable_id: string
  row_id: number | null
  sent: string | null
  stored: string | null
  cause: AbsenceCause | null
  found_by_run: number
  found_at: Date
  /** The run after which its row was to be sent again over it. */
  resent_by_run: Generated<number | null>
  /** Whether the newest comparison said nothing of it: it stands as an earlier one found it. */
  unjudged: Generated<boolean>
}

export type InputDifferencesView = Omit<InputDifferenceTable, 'row_id' | 'resent_by_run' | 'unjudged'> & {
  partner_id: string | null
  variable_name: string | null
  accepted_at: Date | null
  submission_id: number | null
}

export type InputDifference = InputDifferencesView

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
  /** Whether the newest comparison said nothing of it: it stands as an earlier one found it. */
  unjudged: Generated<boolean>
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
