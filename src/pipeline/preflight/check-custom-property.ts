import { isNumber, valueTypeOf } from './answer-value.ts'
import { checkId, hint } from './known-id.ts'
import { key, type ReferenceIndex } from './reference-index.ts'
import { isGiven, type RowContent, shown, text } from './row-content.ts'

/** What is wrong with the value of a custom property, or null. Only what the key's profile owns can be written. */
export function checkCustomPropertyValue(reference: ReferenceIndex, content: RowContent): string | null {
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
    return `custom property ${id} is none that this key can see${hint(reference, id, customProperties.keys())}`
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
