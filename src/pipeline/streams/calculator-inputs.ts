import { key, listed, type ReferenceIndex } from './rules/reference-index.ts'
import {
  checkYearAndMonth,
  isId,
  keyOf,
  periodWords,
  present,
  type RowContent,
  shown,
  unknownCodeReason,
} from './rules/row-content.ts'
import { columnWords, type RowWarning, type Stream } from './stream.ts'

/** Specification: Calculator upsert request. Values are texts to the service. */
export const calculatorInputs: Stream = {
  about:
    'One row per input value. All rows of a hotel and period make up one row of the ledger, and they travel together.',
  columns: {
    partner_id: columnWords.partner_id,
    year: columnWords.year,
    month: '1 to 12; null for a yearly calculator.',
    field_type_id: 'Id of the field type: what the value is of.',
    value: 'Nightferry sends this very text.',
  },
  notes: [
    'A null `value` takes back a value that was accepted before: Nightferry sends it blank. [What the specification leaves open](spec-gaps.md#absent-inputs) says why.',
  ],
  table: { all: ['partner_id', 'year', 'field_type_id', 'value'], telling: ['value'] },
  kind: 'calculators',
  // An input whose field type is no id is a row of its own: it must not spoil the others of its period.
  parts: { key: 'inputs', name: 'field_type_id', value: 'value', isName: isId },
  toRow: (row, partnerId) => ({
    partnerId,
    rowKey: isId(row.field_type_id)
      ? keyOf(partnerId, row.year, row.month)
      : keyOf(partnerId, row.year, row.month, row.field_type_id),
    content: {
      ...present({ year: row.year ?? null, month: row.month ?? null }),
      inputs: { [row.field_type_id ?? '']: row.value },
    },
  }),
  check: checkInputs,
  warn: (content, reference) => unseenFieldTypes(reference, content),
  words: (content) => `${periodWords(content)} ${Object.keys(inputsOf(content)).length} inputs`,
}

function checkInputs(content: RowContent): string | null {
  const period = checkYearAndMonth(content)
  if (period !== null) return period
  const inputs = inputsToSend(content)
  const fieldTypeIds = Object.keys(inputs)
  if (fieldTypeIds.length === 0) return 'every input is empty: there is nothing to send'
  const malformed = fieldTypeIds.find((id) => !isId(id))
  if (malformed !== undefined) {
    return unknownCodeReason('field_type_id', malformed) ?? `field_type_id '${shown(malformed)}' is no id`
  }
  // Names of one object differ, so two can only be alike where one of them has capitals.
  const spelt = fieldTypeIds.every((id) => key(id) === id) ? null : new Map(fieldTypeIds.map((id) => [key(id), id]))
  if (spelt !== null && spelt.size < fieldTypeIds.length) {
    const twice = fieldTypeIds.find((id) => spelt.get(key(id)) !== id)
    return `field_type_id ${twice ?? ''} stands twice, in capitals and in small letters`
  }
  const wrong = fieldTypeIds.find((id) => inputs[id] !== null && typeof inputs[id] !== 'string')
  return wrong === undefined ? null : `the value of field_type_id ${wrong} is no text`
}

/**
 * The inputs by field type id, as they are sent. An id is the same in capitals and in small letters: one that was taken
 * back is left out where its other spelling is there, or was taken back too. Pure.
 */
export function inputsToSend(content: RowContent): Readonly<Record<string, unknown>> {
  const inputs = inputsOf(content)
  const fieldTypeIds = Object.keys(inputs)
  if (fieldTypeIds.every((id) => inputs[id] !== null) || fieldTypeIds.every((id) => key(id) === id)) return inputs
  const named = new Set(fieldTypeIds.filter((id) => inputs[id] !== null).map(key))
  return Object.fromEntries(
    Object.entries(inputs).filter(([id, value]) => {
      if (value !== null) return true
      const isNew = !named.has(key(id))
      named.add(key(id))
      return isNew
    }),
  )
}

/** The inputs by field type id; of content that is no calculator, none. */
function inputsOf(content: RowContent): Readonly<Record<string, unknown>> {
  const inputs = content.inputs
  return typeof inputs === 'object' && inputs !== null && !Array.isArray(inputs)
    ? (inputs as Record<string, unknown>)
    : {}
}

/** A page names the variables of its calculators, so one that no page ever named may be no field type; or a new one. */
function unseenFieldTypes({ variableIds }: ReferenceIndex, content: RowContent): RowWarning[] {
  if (variableIds.size === 0) return []
  const unseen = Object.keys(inputsToSend(content)).filter((id) => !variableIds.has(key(id)))
  if (unseen.length === 0) return []
  const detail = `no page of calculators has named ${listed(unseen)} yet: is the field_type_id right?`
  return [{ kind: 'field_type_unseen', detail }]
}
