import { text } from '../../streams/rules/row-content.ts'
import { type BodyContext, type BodyWriter, type OutgoingRow, objectWithList, withoutAbsent } from './body.ts'

/**
 * Body of POST standards/holders/upsert: certifications and commitments (Versioning names the endpoint; its body is
 * assumed).
 */
export const writeStandardHolders: BodyWriter = function* (rows, context) {
  const { standardHolders: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.holders, holders(rows, context))
}

function* holders(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { standardHolders: names } = contract.names
  for (const { partner_id, content } of rows) {
    yield withoutAbsent({
      [names.identifier]: partner_id,
      [names.standardId]: text(content, 'standard_id'),
      [names.level]: text(content, 'level'),
      [names.startDate]: text(content, 'start_date'),
      [names.expiryDate]: text(content, 'expiry_date'),
    })
  }
}
