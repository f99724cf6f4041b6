import { isGiven, type RowContent, shown, text } from './row-content.ts'

const number = /^[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/
/** The kinds of detail that a property can be matched by (Company mapping request). */
const details = ['name', 'street', 'latitude', 'country_code', 'airport_code', 'hotel_code', 'booking_id']

/** What is wrong with the details of a property, or null. A detail that is blank says nothing, and is no mistake. */
export function checkProperty(content: RowContent): string | null {
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
  const [latitude, longitude] = [text(content, 'latitude'), text(content, 'longitude')]
  if ((latitude === null) !== (longitude === null)) return 'latitude and longitude must come together'
  if (latitude !== null && !within(latitude, 90)) return `latitude ${shown(latitude)} is not between -90 and 90`
  if (longitude !== null && !within(longitude, 180)) return `longitude ${shown(longitude)} is not between -180 and 180`
  return null
}

function checkCode(content: RowContent, name: string, letters: number, what: string): string | null {
  const code = text(content, name)
  if (code === null || !isGiven(content, name) || new RegExp(`^[A-Za-z]{${letters}}$`).test(code)) return null
  return `${name} '${shown(code)}' is none of ${what}`
}

function within(value: string, bound: number): boolean {
  return number.test(value) && Math.abs(Number(value)) <= bound
}
