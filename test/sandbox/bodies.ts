import { catalogue } from '../../src/sandbox/catalogue.ts'
import { type Hotel, hotelAt } from '../../src/sandbox/hotels.ts'
import { seed } from './open-sandbox.ts'

export function mappingOf(hotel: Hotel): Record<string, unknown> {
  return {
    id: hotel.partnerId,
    name: hotel.name,
    street: hotel.street,
    coordinates: { latitude: hotel.latitude, longitude: hotel.longitude },
    countryCode: hotel.countryCode,
    airportCode: hotel.airportCode,
    ...(hotel.hotelCode !== null && { hotelCode: hotel.hotelCode }),
    ...(hotel.bookingId !== null && { bookingId: hotel.bookingId }),
  }
}

export function mappings(companies: unknown[], customIdentifierId: string = catalogue.customIdentifierId) {
  return { customIdentifierId, companies }
}

/** Mapping request for the hotels with these numbers. */
export function mapHotels(...numbers: number[]) {
  return mappings(numbers.map((number) => mappingOf(hotelAt(seed, number))))
}

export function partnerId(number: number): string {
  return hotelAt(seed, number).partnerId
}

export function calculators(companies: unknown[], overrides: Record<string, unknown> = {}) {
  return { groupId: catalogue.groupId, customIdentifierId: catalogue.customIdentifierId, companies, ...overrides }
}

/** One company's inputs for one period: values by field type id. */
export function inputsOf(
  identifier: string,
  period: { year: number; month?: string },
  values: Record<string, unknown>,
  settings: Record<string, unknown> = {},
) {
  const inputs = Object.entries(values).map(([fieldTypeId, value]) => ({ fieldTypeId, value }))
  return { identifier, ...settings, calculators: [{ period, inputs }] }
}

export function identifiedBy(number: number) {
  return { customProperty: { customPropertyId: catalogue.customIdentifierId, value: partnerId(number) } }
}
