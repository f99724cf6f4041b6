import type { FrameworkDataPoint } from '../../../src/exchange/reference-data.ts'
import { type ReferenceIndex, referenceIndexOf } from '../../../src/pipeline/streams/rules/reference-index.ts'

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

/** Ids that tests write and look for. */
export const ids = {
  identifier: id(1),
  group: id(2),
  framework: id(3),
  otherFramework: id(4),
  question: id(5),
  number: id(6),
  list: id(7),
  strange: id(8),
  unit: id(9),
  field: id(10),
  otherField: id(11),
  property: id(12),
  standard: id(13),
  option: id(14),
  company: id(15),
  unitType: id(16),
  brand: id(17),
}

export function dataPoint(pointId: string): FrameworkDataPoint {
  const valueTypes: Record<string, string> = { [ids.number]: 'Number', [ids.list]: 'List', [ids.strange]: 'Hologram' }
  return {
    id: pointId,
    valueType: valueTypes[pointId] ?? null,
    reportingPeriodType: 'Any',
    unitIds: pointId === ids.number ? [ids.unit] : [],
    optionIds: pointId === ids.list ? [ids.option] : [],
    questionId: ids.question,
  }
}

/** One framework with a number, a list and a data point of a type that nobody knows; another is empty. */
export const reference: ReferenceIndex = referenceIndexOf({
  frameworks: [
    {
      id: ids.framework,
      title: 'Responsible Hotel',
      questionIds: [ids.question],
      dataPoints: [ids.number, ids.list, ids.strange].map(dataPoint),
      titles: { [ids.question]: 'How much?', [ids.number]: 'Energy', [ids.list]: 'Sources', [ids.option]: 'Solar' },
    },
    { id: ids.otherFramework, title: 'Living Coast', questionIds: [], dataPoints: [], titles: {} },
  ],
  unitTypes: [
    { id: ids.unitType, name: 'Energy', units: [{ id: ids.unit, name: 'Kilowatt hour', abbreviation: 'kWh' }] },
  ],
})
