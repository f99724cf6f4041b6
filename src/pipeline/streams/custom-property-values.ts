import { isNumber, valueTypeOf } from './rules/answer-value.ts'
import { checkId, hint, key, type ReferenceIndex } from './rules/reference-index.ts'
import { idWords, isGiven, keyOf, present, type RowContent, shown, text } from './rules/row-content.ts'
import { columnWords, type Stream } from './stream.ts'

/** Specification: Company upsert request. */
export const customPropertyValues: Stream = {
  about: 'One row per value of a custom property of a hotel.',
  columns: {
    partner_id: columnWords.partner_id,
    property_id: 'Id of a custom property that is not the identifier.',
    value: 'The value, never null.',
  },
  table: { all: ['partner_id', 'property_id', 'value'], telling: ['value'] },
  kind: 'companies',
  toRow: (value, partnerId) => ({
    partnerId,
    rowKey: keyOf(partnerId, value.property_id),
    content: present(value),
  }),
  check: (content, reference) => checkValue(reference, content),
  words: (content) => idWords(content, 'property', 'property_id'),
}

/** Only what the key's profile owns can be written. */
function checkValue(reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'property_id')
  if (malformed !== null) return malformed
  const id = text(content, 'property_id') ?? ''
  const { customProperties, rules } = reference
  if (rules.customIdentifierId !== null && key(rules.customIdentifierId) === key(id)) {
    return `custom property ${id} is the identifier (exchange.customIdentifierId): its values come from mappings alone`
  }
  const value = text(content, 'value')
  const property = customProperties.get(key(id))
  if (customProperties.size > 0 && property === undefined) {
    return `custom property ${id} is none that this key can see${hint(reference, id, customProperties)}`
  }
  if (property?.isOwnedByInvokingCompany === false) {
    return `custom property "${shown(property.name)}" (${id}) belongs to ${property.ownerName ?? 'another profile'}`
  }
  if (value === null) return 'value is empty'
  if (valueTypeOf(property?.type ?? null) === 'number' && isGiven(content, 'value') && !isNumber(value)) {
    return `custom property "${shown(property?.name ?? '')}" (${id}) takes numbers, and '${shown(value)}' is none`
  }
  return null
}
