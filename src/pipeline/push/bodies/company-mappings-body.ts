import { text } from '../../streams/rules/row-content.ts'
import { type BodyContext, type BodyWriter, type OutgoingRow, objectWithList, withoutAbsent } from './body.ts'

/** Body of POST company-mappings: the partner's ids with whatever public detail is known (Company mapping request). */
export const writeCompanyMappings: BodyWriter = function* (rows, context) {
  const { companyMappings: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, companies(rows, context))
}

function* companies(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { companyMappings: names } = contract.names
  for (const { partner_id, content } of rows) {
    const latitude = text(content, 'latitude')
    yield withoutAbsent({
      [names.id]: partner_id,
      [names.name]: text(content, 'name'),
      [names.street]: text(content, 'street'),
      [names.coordinates]:
        latitude === null
          ? null
          : { [names.latitude]: Number(latitude), [names.longitude]: Number(text(content, 'longitude')) },
      [names.countryCode]: text(content, 'country_code'),
      [names.airportCode]: text(content, 'airport_code'),
      [names.hotelCode]: text(content, 'hotel_code'),
      [names.bookingId]: text(content, 'booking_id'),
    })
  }
}
