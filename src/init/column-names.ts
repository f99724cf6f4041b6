/** Names under which people keep what a stream's column means, best first; the column's own name stands before them. */
const alike: Readonly<Record<string, readonly string[]>> = {
  partner_id: [
    ...['code', 'property_code', 'external_id', 'external_code', 'ext_id', 'ext_code', 'property_number', 'number'],
    ...['hotel_number', 'hotel_no', 'site_code', 'site_id', 'own_id'],
  ],
  name: ['title', 'display_name', 'property_name'],
  street: [
    ...['address', 'street_address', 'address1', 'address_line1', 'address_line_1', 'street_line', 'street_name'],
    ...['street1', 'addr'],
  ],
  latitude: ['lat'],
  longitude: ['lon', 'lng', 'long'],
  country_code: ['country', 'country_iso', 'iso_country', 'country_iso2', 'land'],
  airport_code: ['airport', 'iata', 'iata_code', 'nearest_airport'],
  hotel_code: ['giata', 'giata_id', 'giata_code', 'industry_code'],
  booking_id: ['booking_com_id', 'bookingcom_id', 'booking_hotel_id', 'booking_ref'],
  period_type: ['period_kind'],
  year: ['period_year', 'reading_year', 'reporting_year', 'yr'],
  month: ['period_month', 'reading_month', 'reporting_month', 'mon'],
  framework_id: ['framework'],
  data_point_id: ['datapoint_id', 'data_point', 'datapoint'],
  question_id: ['question'],
  field_type_id: ['field_type', 'exchange_field_type_id', 'fieldtype_id'],
  property_id: ['custom_property_id'],
  standard_id: ['standard'],
  value: ['amount', 'quantity', 'answer', 'reading', 'consumption', 'usage_value', 'reply', 'response'],
  value_type: ['answer_type'],
  unit_id: ['unit'],
  level: ['grade', 'tier'],
  start_date: ['valid_from', 'issued_on', 'issue_date', 'issued_at', 'from_date', 'start_on'],
  expiry_date: ['valid_to', 'valid_until', 'expires_on', 'expires_at', 'end_date', 'expiry'],
  automatic_yearly_calculation: ['auto_yearly_calculation', 'yearly_calculation'],
  automatic_publishing: ['auto_publishing', 'auto_publish'],
}

const cursors = [
  ...[
    'updated_at',
    'modified_at',
    'changed_at',
    'last_updated',
    'last_modified',
    'last_changed',
    'updated',
    'modified',
  ],
  ...['changed', 'modified_on', 'updated_on', 'changed_on', 'modification_date', 'update_time', 'last_update'],
]

/** A name without case and marks, so that `countryCode` and `COUNTRY_CODE` are the same. Pure. */
export function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** The plain name of a table for one of its rows. Pure. */
export function singular(table: string): string {
  return plain(table).replace(/ies$/, 'y').replace(/s$/, '')
}

/**
 * How well a column's name fits what a stream's column means: 3 is its own name, 2 a name that people use for it, 1 the
 * same behind the name of the table, as in hotel.hotel_name; 0: not at all. Pure.
 */
export function likeness(wanted: string, column: string, table: string): number {
  const name = plain(column)
  if (name === plain(wanted)) return 3
  const others = (alike[wanted] ?? []).map(plain)
  if (others.includes(name)) return 2
  const one = singular(table)
  const bare = name.startsWith(one) ? name.slice(one.length) : name
  return bare !== name && (bare === plain(wanted) || others.includes(bare)) ? 1 : 0
}

/** The column by which changes of a table are found; null where none looks like it. Pure. */
export function cursorIn(columns: readonly { name: string; type: string }[]): string | null {
  const times = columns.filter(({ type }) => /time|date|text|char|^$/i.test(type))
  for (const wanted of cursors) {
    const found = times.find(({ name }) => plain(name) === plain(wanted))
    if (found !== undefined) return found.name
  }
  return null
}
