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

/** Every key is a UUID. A value is any text: only in the made-up world is it a decimal. */
function addKeys(values: string, ids: Set<string>): void {
  let key = values.indexOf('"')
  while (key >= 0) {
    ids.add(values.slice(key + 1, key + 1 + idLength))
    const value = values.indexOf('"', key + idLength + 2)
    key = values.indexOf('"', endOfText(values, value + 1) + 1)
  }
}

/** Where the quotation mark is that ends the JSON text whose first character is at `start`. */
function endOfText(json: string, start: number): number {
  let end = json.indexOf('"', start)
  while (isEscaped(json, end)) end = json.indexOf('"', end + 1)
  return end
}

function isEscaped(json: string, at: number): boolean {
  let first = at
  while (json[first - 1] === '\\') first -= 1
  return (at - first) % 2 === 1
}
