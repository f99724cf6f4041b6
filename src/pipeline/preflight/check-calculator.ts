import { isId } from '../streams/stream-rows.ts'
import { checkYearAndMonth } from './check-period.ts'
import { key } from './reference-index.ts'
import { type RowContent, shown, text } from './row-content.ts'

/** What is wrong with the inputs of one calculator, or null (Calculator upsert request). Values are texts to the service. */
export function checkInputs(content: RowContent): string | null {
  const period = checkYearAndMonth(content)
  if (period !== null) return period
  const inputs = inputsOf(content)
  const fieldTypeIds = Object.keys(inputs)
  if (fieldTypeIds.length === 0) return 'every input is empty: there is nothing to send'
  const malformed = fieldTypeIds.find((id) => !isId(id))
  if (malformed !== undefined) return `field_type_id '${shown(malformed)}' is no id`
  const spelt = new Map(fieldTypeIds.map((id) => [key(id), id]))
  if (spelt.size < fieldTypeIds.length) {
    const twice = fieldTypeIds.find((id) => spelt.get(key(id)) !== id)
    return `field_type_id ${twice ?? ''} stands twice, in capitals and in small letters`
  }
  const wrong = fieldTypeIds.find((id) => inputs[id] !== null && typeof inputs[id] !== 'string')
  return wrong === undefined ? null : `the value of field_type_id ${wrong} is no text`
}

/** The inputs by field type id; of content that is no calculator, none. */
export function inputsOf(content: RowContent): Readonly<Record<string, unknown>> {
  const inputs = content.inputs
  return typeof inputs === 'object' && inputs !== null && !Array.isArray(inputs)
    ? (inputs as Record<string, unknown>)
    : {}
}

/** What is wrong with the switches of one property, or null. */
export function checkSettings(content: RowContent): string | null {
  const names = ['automatic_yearly_calculation', 'automatic_publishing']
  for (const name of names) {
    const value = text(content, name)
    if (value !== null && value !== 'true' && value !== 'false') {
      return `${name} '${shown(value)}' is neither true nor false`
    }
  }
  return names.every((name) => text(content, name) === null) ? 'neither switch is set: there is nothing to send' : null
}
