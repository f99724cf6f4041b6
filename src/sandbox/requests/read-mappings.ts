import type { Contract } from '../../exchange/contract.ts'
import { asObject, objects, optionalNumber, optionalObject, optionalText, requiredUuid, text } from './read-json.ts'

/** One property to map: the partner's own id, and the public details that are held of it. */
export type MappingCompany = {
  id: string
  name: string | null
  street: string | null
  coordinates: { latitude: number; longitude: number } | null
  countryCode: string | null
  airportCode: string | null
  hotelCode: string | null
  bookingId: string | null
}
export type MappingRequest = { customIdentifierId: string; companies: MappingCompany[] }

/** @throws {RequestRefused} 400 when the body has another shape, or names no custom identifier. */
export function readMappings(contract: Contract, body: unknown): MappingRequest {
  const names = contract.names.companyMappings
  const request = asObject(body, 'body')
  return {
    customIdentifierId: requiredUuid(request, names.customIdentifierId, 'body'),
    companies: objects(request, names.companies, 'body').map((company, index) => {
      const at = `body.${names.companies}[${index}]`
      const detail = (name: string) => optionalText(company, name, at)
      const coordinates = optionalObject(company, names.coordinates, at)
      const latitude = coordinates && optionalNumber(coordinates, names.latitude, at)
      const longitude = coordinates && optionalNumber(coordinates, names.longitude, at)
      return {
        id: text(company, names.id, at),
        name: detail(names.name),
        street: detail(names.street),
        coordinates: latitude === null || longitude === null ? null : { latitude, longitude },
        countryCode: detail(names.countryCode),
        airportCode: detail(names.airportCode),
        hotelCode: detail(names.hotelCode),
        bookingId: detail(names.bookingId),
      }
    }),
  }
}
