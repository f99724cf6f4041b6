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
  /** Not compared: inputs of rows that are pending, rejected, on the way or gone. */
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
}

export type InputDifferencesView = Omit<InputDifferenceTable, 'row_id' | 'resent_by_run'> & {
  partner_id: string | null
  variable_name: string | null
  accepted_at: Date | null
  submission_id: number | null
}

export type InputDifference = InputDifferencesView
