import type { World } from '../../service-world.ts'
import type { FoundCalculator } from './stored-calculators.ts'

/**
 * The variables that have a value in any of the calculators. They are read off the text of the values, since parsing
 * would take longer than all else, and no further once a type has nothing new to give.
 */
export function variablesOf(world: World, calculators: readonly FoundCalculator[]): Set<string> {
  const found = new Set<string>()
  const exhausted = new Set<string>()
  for (const { typeId, inputs, outputs } of calculators) {
    if (exhausted.has(typeId)) continue
    addKeys(inputs, found)
    addKeys(outputs, found)
    if (world.variablesByType.get(typeId)?.every((id) => found.has(id))) exhausted.add(typeId)
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
