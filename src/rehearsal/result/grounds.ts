/** Whether the specification says that the service refuses such a row, or we only think so. */
export type Ground = {
  ground: 'stated' | 'assumed'
  /** Where it is stated, or why it is thought. */
  why: string
  /** What would make the service take the row all the same; null: nothing that is known. */
  unless: string | null
}

const items =
  'Errors: an item that names nothing, what the profile cannot access, or a value outside an allowed list fails by itself'
const stated = (why: string, unless: string | null = null): Ground => ({ ground: 'stated', why, unless })
const assumed = (why: string): Ground => ({ ground: 'assumed', why, unless: null })

/** By the code under which the mirror refuses a row. */
const grounds: Readonly<Record<string, Ground>> = {
  NotFound: stated(items, 'it knows a company that the key cannot see yet: the mirror holds those that it can'),
  company_not_found: stated(items, 'the company came within reach of the profile after the mirror was taken'),
  company_not_accessible: stated(items, 'the profile may use the company by now, or the group holds it'),
  data_point_not_found: stated(items),
  question_not_found: stated(items),
  framework_not_found: stated(items),
  standard_not_found: stated(items),
  field_type_not_found: stated(`${items}; Calculator upsert request: each input names its field type`),
  option_not_found: stated(items),
  level_not_found: stated(`${items}; that levels are such a list is assumed`),
  unit_not_allowed: stated(`${items}; Framework answers upsert request: units are listed in the framework`),
  custom_property_not_usable: stated('Authentication 3: a custom property that the profile cannot use'),
  value_type_mismatch: stated('Framework answers upsert request: answers are typed'),
  company_ambiguous: assumed('one id names several companies; what becomes of that is not shown'),
  period_type_not_allowed: assumed(
    'a data point says for which periods it is reported; that another fails is not said',
  ),
  unit_missing: assumed('whether a quantity may leave its unit out is not shown'),
  value_blank: assumed('that a blank text is no answer is not said'),
  value_out_of_range: assumed('limits of numbers are not published'),
  value_not_numeric: assumed('that inputs and properties of type Number take decimal numbers only is not said'),
  value_negative: assumed('that an input is not below zero is not said'),
  date_invalid: assumed('dates are ISO dates by their name on the wire'),
  date_range_reversed: assumed('that a range ends after it begins is not said'),
  custom_property_is_identifier: assumed('that values of identifiers come from mappings only is not said'),
  year_invalid: assumed('which years are taken is not said'),
  month_invalid: assumed('months are names, as on the pages'),
  period_type_unknown: stated('Framework answers upsert request: a period is Yearly or Monthly'),
  text_not_storable: assumed('which characters a text may hold is not said'),
  month_missing: stated('Framework answers upsert request: a Monthly period is one month'),
}

/** Why the mirror refused a row. A code that nobody has judged is assumed. Pure. */
export function groundOf(code: string | null): Ground {
  return grounds[code ?? ''] ?? assumed('the sandbox refuses it, and the specification does not name the case')
}
