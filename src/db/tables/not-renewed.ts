import type { Generated } from 'kysely'

/** What can stand without having been renewed. A mark of the whole covers its parts. */
export type UnrenewedPart =
  | 'company'
  | 'company_name'
  | 'calculator'
  | 'calculator_title'
  | 'value'
  | 'property'
  | 'variable_name'
  | 'property_name'

/**
 * What stands although the last search that should have renewed it did not. 0 and `-` where a column does not apply.
 */
type UnrenewedPartTable = {
  company_key: Generated<number>
  part: UnrenewedPart
  calculator_key: Generated<number>
  direction: Generated<'i' | 'o' | '-'>
  variable_key: Generated<number>
  property_key: Generated<number>
  ordinal: Generated<number>
  since: Generated<Date>
  /** A stable code. */
  reason: string
  /** True: the search shows it as absent, and its removal was withheld. False: what the page holds cannot be right. */
  withheld: boolean
  submission_id: number
}

/** A value that was removed and can be brought back. */
type RemovedValueTable = {
  company_key: number
  calculator_key: number
  variable_key: number
  direction: 'i' | 'o'
  removal_id: Generated<number>
  value: string
  submission_id: number
  removed_at: Generated<Date>
}

/** The same, of a custom property. */
type RemovedPropertyTable = {
  company_key: number
  property_key: number
  ordinal: number
  removal_id: Generated<number>
  value: string
  submission_id: number
  removed_at: Generated<Date>
}

type NotRenewedView = {
  part: UnrenewedPart
  company_id: string | null
  calculator_id: string | null
  direction: 'input' | 'output' | null
  variable_id: string | null
  property_id: string | null
  ordinal: number | null
  since: Date
  reason: string
  withheld: boolean
  run_id: number | null
}

type RemovalsView = {
  part: 'value' | 'property'
  company_id: string
  calculator_id: string | null
  direction: 'input' | 'output' | null
  variable_id: string | null
  property_id: string | null
  ordinal: number | null
  value: string
  removed_at: Date
  run_id: number | null
}

export type NotRenewedSchema = {
  unrenewed_part: UnrenewedPartTable
  removed_value: RemovedValueTable
  removed_property: RemovedPropertyTable
  not_renewed: NotRenewedView
  removals: RemovalsView
}
