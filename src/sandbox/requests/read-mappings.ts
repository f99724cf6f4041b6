import type { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { list, optionalNumber, optionalText, requiredId, text, wire } from './wire-spelling.ts'

/** One property to map: the partner's own id, and the public details that are known of it. */
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

/** Company mapping request (specification, Resources). */
export function mappingRequest(contract: Contract): z.ZodType<MappingRequest> {
  const names = contract.names.companyMappings
  const coordinates = wire(names, { latitude: optionalNumber, longitude: optionalNumber })
    .transform(({ latitude, longitude }) => (latitude === null || longitude === null ? null : { latitude, longitude }))
    .meta({ id: 'Coordinates', description: 'In degrees. Used only when both are given.' })
  const company = wire(names, {
    id: text.meta({ description: "The partner's own id. It is stored under the custom identifier." }),
    name: optionalText,
    street: optionalText,
    coordinates: coordinates.nullish(),
    countryCode: optionalText.meta({ description: 'ISO 3166-1 alpha-2.', examples: ['DK'] }),
    airportCode: optionalText.meta({ description: 'IATA.', examples: ['CPH'] }),
    hotelCode: optionalText,
    bookingId: optionalText,
  }).meta({ id: 'CompanyToMap', description: 'A property of the partner, with the public detail that is held of it.' })
  return wire(names, {
    customIdentifierId: requiredId.meta({ description: 'A custom property that is an identifier.' }),
    companies: list(company),
  }).meta({ id: 'CompanyMappingsRequest' })
}
