import { catalogue } from '../../catalogue.ts'
import type { FoundCalculator } from './stored-calculators.ts'

/** Every variable that a calculator of a type can have, by the type. */
const variablesByType = new Map(
  catalogue.everyCalculatorType.map(({ id }) => [
    id,
    [
      ...catalogue.everyFieldType.filter(({ calculatorTypeIds }) => calculatorTypeIds.includes(id)),
      ...catalogue.everyOutputVariable.filter(({ calculatorTypeId }) => calculatorTypeId === id),
    ].map((variable) => variable.id),
  ]),
)

/**
 * The variables that have a value in any of the calculators. They are read off the text of the values, since parsing
 * would take longer than all else, and no further once a type has nothing new to give.
 */
export function variablesOf(calculators: readonly FoundCalculator[]): Set<string> {
  const found = new Set<string>()
  const exhausted = new Set<string>()
  for (const { typeId, inputs, outputs } of calculators) {
    if (exhausted.has(typeId)) continue
    addKeys(inputs, found)
    addKeys(outputs, found)
    if (variablesByType.get(typeId)?.every((id) => found.has(id))) exhausted.add(typeId)
  }
  return found
}

/** Length of a UUID as text. */
const idLength = 36

/** Every key is a UUID and every value is decimal text, so that each quotation mark begins or ends one of them. */
function addKeys(values: string, ids: Set<string>): void {
  let key = values.indexOf('"') + 1
  while (key > 0) {
    ids.add(values.slice(key, key + idLength))
    const value = values.indexOf('"', key + idLength + 1) + 1
    const end = values.indexOf('"', value)
    key = values.indexOf('"', end + 1) + 1
  }
}
