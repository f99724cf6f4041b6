import type { Generated } from 'kysely'

/** A company as the last page that had it gave it. */
type CompanyTable = {
  company_key: Generated<number>
  company_id: string
  name: string | null
  first_seen_at: Generated<Date>
  changed_at: Generated<Date>
  /** The tombstone: set while a complete search does not return the company. */
  removed_at: Date | null
  /** When a page last showed it while it had a tombstone. */
  returned_at: Generated<Date | null>
  /** Hash of the bytes that it was read from, as a UUID; null where what stands is not just what those bytes say. */
  content_hash: string | null
  /** How many bytes that hash was made of; null where it was made before this was kept. */
  content_bytes: number | null
  /** The names that were listed on the page that it was read from. */
  listing_key: number | null
  /** How many calculators and values those bytes hold. */
  calculators: Generated<number>
  values: Generated<number>
  /** The last search had it on several pages. */
  on_many_pages: Generated<boolean>
}

/** Variables and custom properties that a page listed. */
type PageListingTable = { listing_key: Generated<number>; variable_keys: number[]; property_keys: number[] }

/** The name is null until the first page that gives it is loaded: pages that load side by side share the keys. */
type CustomPropertyTable = { property_key: Generated<number>; property_id: string; name: string | null }

type CompanyPropertyTable = {
  company_key: number
  property_key: number
  /** Position among the property's values, from 1. */
  ordinal: number
  value: string
}

/** The name is null until the first page that gives it is loaded: pages that load side by side share the keys. */
type CalculatorVariableTable = { variable_key: Generated<number>; variable_id: string; name: string | null }

type CalculatorTable = {
  calculator_key: Generated<number>
  calculator_id: string
  company_key: number
  type_id: string
  title: string | null
  period_year: number
  /** 1 to 12; null on a yearly calculator. */
  period_month: number | null
  changed_at: Generated<Date>
  removed_at: Date | null
  first_seen_at: Generated<Date>
  /** When a page last showed it while it had a tombstone. */
  returned_at: Generated<Date | null>
}

type CalculatorValueTable = {
  /** The company of the calculator, whose values lie together. */
  company_key: number
  calculator_key: number
  variable_key: number
  /** Input or output, in one byte: this table has millions of rows. */
  direction: 'i' | 'o'
  value: string
}

/** What the pages of one search have shown so far: the ground on which absence is judged. */
type SearchSeenCompanyTable = {
  submission_id: number
  company_key: number
  /** Whether all that stands here of the company has been seen with it: nothing of it is proven absent. */
  whole: Generated<boolean>
  /** Whether a page gave, in a form that can be read, all calculators that stand of it. */
  given: Generated<boolean>
  pages: Generated<number>
}
type SearchSeenCalculatorTable = { submission_id: number; calculator_key: number }

export type QuarantineUnit =
  | 'company'
  | 'calculator'
  | 'value'
  | 'property'
  | 'variable_name'
  | 'property_name'
  | 'document'

/** What was left out of a page, and why. */
type QuarantineTable = {
  page_id: number
  unit: QuarantineUnit
  company_id: string | null
  calculator_id: string | null
  /** The field, the variable id or the property id that holds it. */
  item: string | null
  /** A stable code. */
  reason: string
  /** What stood there, as JSON, cut short. */
  excerpt: string
}

/** The views that people query. */
type CompaniesView = {
  company_id: string
  name: string | null
  partner_id: string | null
  first_seen_at: Date
  changed_at: Date
  removed_at: Date | null
  not_renewed_since: Date | null
  /** A stable code. */
  not_renewed_reason: string | null
}

type CompanyPropertiesView = {
  company_id: string
  property_id: string
  property_name: string
  ordinal: number
  value: string
  not_renewed_since: Date | null
  /** A stable code. */
  not_renewed_reason: string | null
}

type CalculatorsView = {
  calculator_id: string
  company_id: string
  type_id: string
  title: string | null
  period_year: number
  period_month: number | null
  changed_at: Date
  removed_at: Date | null
  first_seen_at: Date
  not_renewed_since: Date | null
  /** A stable code. */
  not_renewed_reason: string | null
}

type CalculatorVariablesView = {
  variable_id: string
  name: string
  not_renewed_since: Date | null
  /** A stable code. */
  not_renewed_reason: string | null
}

type CalculatorValuesView = {
  calculator_id: string
  company_id: string
  period_year: number
  period_month: number | null
  direction: 'input' | 'output'
  variable_id: string
  variable_name: string
  value: string
  /** Decimal text, as pg gives `numeric`. */
  value_numeric: string | null
  not_renewed_since: Date | null
  /** A stable code. */
  not_renewed_reason: string | null
}

export type CalculatorsSchema = {
  company: CompanyTable
  page_listing: PageListingTable
  custom_property: CustomPropertyTable
  company_property: CompanyPropertyTable
  calculator_variable: CalculatorVariableTable
  calculator: CalculatorTable
  calculator_value: CalculatorValueTable
  search_seen_company: SearchSeenCompanyTable
  search_seen_calculator: SearchSeenCalculatorTable
  quarantine: QuarantineTable
  companies: CompaniesView
  company_properties: CompanyPropertiesView
  calculators: CalculatorsView
  calculator_variables: CalculatorVariablesView
  calculator_values: CalculatorValuesView
}

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

/** What was removed, and can be brought back for as long as it is kept. */
export type RemovalsView = {
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
