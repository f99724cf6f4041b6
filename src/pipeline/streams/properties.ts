import { givenText, isGiven, partsOf, present, type RowContent, shown } from './rules/row-content.ts'
import type { RowWarning, Stream } from './stream.ts'

/** The kinds of detail that a property can be matched by (Company mapping request). */
const details = ['name', 'street', 'latitude', 'country_code', 'airport_code', 'hotel_code', 'booking_id']

/** Specification: Company mapping request. */
export const properties: Stream = {
  about: 'One row per hotel. The row travels in a company-mappings request, by which the service finds its company.',
  columns: {
    partner_id: 'Your id of the hotel, never empty; every other stream names the hotel by it.',
    name: 'The name of the hotel.',
    street: 'Its street.',
    latitude: 'Degrees, -90 to 90, only together with the longitude.',
    longitude: 'Degrees, -180 to 180, only together with the latitude.',
    country_code: 'The code of its country.',
    airport_code: 'The code of its airport.',
    hotel_code: 'Its code in the hotel industry.',
    booking_id: 'Its id at a booking platform.',
  },
  notes: [
    'Nightferry leaves details that are null or blank out of the request. A row with nothing but its id is invalid, because the service has nothing to match by.',
  ],
  table: { all: ['partner_id'], any: details, telling: details },
  kind: 'company_mappings',
  toRow: (given, partnerId) => ({ partnerId, rowKey: partnerId, content: present(given) }),
  check: checkProperty,
  warn: nullIsland,
  words: (content) => partsOf(content, ['name', 'street', 'country_code']).join(', '),
}

const number = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/

/** A detail that is blank says nothing, and is no mistake. */
function checkProperty(content: RowContent): string | null {
  const coordinates = checkCoordinates(content)
  if (coordinates !== null) return coordinates
  if (!details.some((name) => isGiven(content, name))) {
    return 'nothing is known but the partner id: there is nothing to match by'
  }
  return (
    checkCode(content, 'country_code', 2, 'ISO 3166-1 alpha-2: two letters, as in DK') ??
    checkCode(content, 'airport_code', 3, 'IATA: three letters, as in CPH')
  )
}

function checkCoordinates(content: RowContent): string | null {
  const [latitude, longitude] = [givenText(content, 'latitude'), givenText(content, 'longitude')]
  if ((latitude === null) !== (longitude === null)) return 'latitude and longitude must come together'
  if (latitude !== null && !within(latitude, 90)) return `latitude ${shown(latitude)} is not between -90 and 90`
  if (longitude !== null && !within(longitude, 180)) return `longitude ${shown(longitude)} is not between -180 and 180`
  return null
}

function checkCode(content: RowContent, name: string, letters: number, what: string): string | null {
  const code = givenText(content, name)
  if (code === null || new RegExp(`^[A-Za-z]{${letters}}$`).test(code)) return null
  return `${name} '${shown(code)}' is none of ${what}`
}

function within(value: string, bound: number): boolean {
  return number.test(value) && Math.abs(Number(value)) <= bound
}

function nullIsland(content: RowContent): RowWarning[] {
  const [latitude, longitude] = [givenText(content, 'latitude'), givenText(content, 'longitude')]
  if (latitude === null || longitude === null || Number(latitude) !== 0 || Number(longitude) !== 0) return []
  const detail = 'latitude and longitude are 0: a place in the sea, and often what stands for no coordinates'
  return [{ kind: 'coordinates_zero', detail }]
}
