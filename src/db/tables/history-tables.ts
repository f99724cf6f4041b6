import type { Generated } from 'kysely'

/** A value that was added, changed or removed by a search that records history. */
type CalculatorValueChangeTable = {
  /** The company under which it stood; a calculator that moves removes its values here and adds them there. */
  company_key: number
  calculator_key: number
  variable_key: number
  direction: 'i' | 'o'
  change_id: Generated<number>
  submission_id: number
  changed_at: Generated<Date>
  /** Null: it was not there. */
  before: string | null
  /** Null: it is not there any more. */
  after: string | null
  /** Since when no search had renewed what it was before; null: the last one had. */
  not_renewed_since: Date | null
}

/** Since when every change is recorded without a gap: at most one row. */
type HistoryStartTable = { singleton: Generated<boolean>; began_at: Date }

/** A search that proved what is absent, and for which calculator types; none for all. */
type CompleteSearchTable = { submission_id: number; calculator_type_ids: string[]; ended_at: Date }

export type NamedKind = 'variable' | 'property'

/** A variable or custom property that a page named otherwise than the pages before. */
type NameChangeTable = {
  change_id: Generated<number>
  kind: NamedKind
  id: string
  before: string
  after: string
  page_id: number
  changed_at: Generated<Date>
}

type ChangeKind = 'added' | 'changed' | 'removed'

export type ValueChangesView = {
  change_id: number
  run_id: number
  changed_at: Date
  company_id: string
  calculator_id: string
  period_year: number
  period_month: number | null
  direction: 'input' | 'output'
  variable_id: string
  variable_name: string | null
  kind: ChangeKind
  before: string | null
  after: string | null
}

type CalculatorValueHistoryView = {
  calculator_id: string
  company_id: string
  period_year: number
  period_month: number | null
  direction: 'input' | 'output'
  variable_id: string
  variable_name: string | null
  value: string
  /** Decimal text, as pg gives `numeric`. */
  value_numeric: string | null
  /** Null: before the history begins. */
  first_seen_at: Date | null
  last_seen_at: Date | null
  /** Null: it stands. */
  ended_at: Date | null
}

export type NameChangesView = {
  change_id: number
  run_id: number
  changed_at: Date
  kind: NamedKind
  id: string
  before: string
  after: string
}

export type HistorySchema = {
  calculator_value_change: CalculatorValueChangeTable
  history_start: HistoryStartTable
  complete_search: CompleteSearchTable
  name_change: NameChangeTable
  value_changes: ValueChangesView
  calculator_value_history: CalculatorValueHistoryView
  name_changes: NameChangesView
}
