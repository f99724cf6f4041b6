import { inputsOf } from './check-calculator.ts'
import { listed } from './known-id.ts'
import { key, type ReferenceIndex } from './reference-index.ts'
import { type RowContent, text } from './row-content.ts'

/** What is odd about a row and does not keep it from being sent. */
type RowWarning = { kind: 'coordinates_zero' | 'field_type_unseen'; detail: string }

/** What is odd about a row, none of which is certain to be wrong. Pure. */
export function rowWarnings(reference: ReferenceIndex, stream: string, content: RowContent): RowWarning[] {
  if (stream === 'properties') return nullIsland(content)
  return stream === 'calculator_inputs' ? unseenFieldTypes(reference, content) : []
}

function nullIsland(content: RowContent): RowWarning[] {
  const [latitude, longitude] = [text(content, 'latitude'), text(content, 'longitude')]
  if (latitude === null || longitude === null || Number(latitude) !== 0 || Number(longitude) !== 0) return []
  const detail = 'latitude and longitude are 0: a place in the sea, and often what stands for no coordinates'
  return [{ kind: 'coordinates_zero', detail }]
}

/** A page names the variables of its calculators, so one that no page ever named may be no field type; or a new one. */
function unseenFieldTypes({ variableIds }: ReferenceIndex, content: RowContent): RowWarning[] {
  if (variableIds.size === 0) return []
  const unseen = Object.keys(inputsOf(content)).filter((id) => !variableIds.has(key(id)))
  if (unseen.length === 0) return []
  const detail = `no page of calculators has named ${listed(unseen)} yet: is the field_type_id right?`
  return [{ kind: 'field_type_unseen', detail }]
}
