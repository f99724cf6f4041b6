import { text } from '../../streams/rules/row-content.ts'
import { type BodyContext, type BodyWriter, byPartner, type OutgoingRow, objectWithList } from './body.ts'

/**
 * Body of POST companies/upsert: custom property values by company (Versioning names the endpoint; its body is
 * assumed).
 */
export const writeCompanies: BodyWriter = function* (rows, context) {
  const { companies: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, companies(rows, context))
}

function* companies(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { companies: names } = contract.names
  for (const [partnerId, group] of byPartner(rows)) {
    yield {
      [names.identifier]: partnerId,
      [names.customProperties]: group.map(({ content }) => ({
        [names.propertyId]: text(content, 'property_id'),
        [names.value]: text(content, 'value'),
      })),
    }
  }
}
