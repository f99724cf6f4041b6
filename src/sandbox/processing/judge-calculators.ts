import { parseDecimal } from '../decimal.ts'
import { monthNumber } from '../month-words.ts'
import type { CalculatorCompany, CalculatorEntry, CalculatorInput } from '../requests/read-calculators.ts'
import { isUuid } from '../requests/read-json.ts'
import type { World } from '../service-world.ts'

/** One input to store for a period; value null: blank, so nothing is stored and an earlier value goes. */
export type AcceptedInput = {
  fieldTypeId: string
  calculatorTypeIds: readonly string[]
  year: number
  month: number | null
  value: string | null
}
export type InputError = { fieldTypeId: string | null; reason: string }

/** Longest input value, in characters: far beyond any meter, and it bounds the arithmetic. */
const maxValueLength = 60

/** All inputs of one company's entry, or everything that is wrong with them. */
export function judgeCalculators(
  world: World,
  company: CalculatorCompany,
): { inputs: AcceptedInput[]; errors: InputError[] } {
  const inputs: AcceptedInput[] = []
  const errors: InputError[] = []
  for (const entry of company.calculators) {
    const period = judgePeriod(entry)
    if ('reason' in period) errors.push({ fieldTypeId: null, reason: period.reason })
    for (const input of entry.inputs) {
      const judged = judgeInput(world, input)
      if ('reason' in judged) errors.push({ fieldTypeId: input.fieldTypeId, reason: judged.reason })
      else if (!('reason' in period)) inputs.push({ ...judged, ...period })
    }
  }
  return { inputs, errors }
}

function judgePeriod(entry: CalculatorEntry): { year: number; month: number | null } | { reason: string } {
  const { year } = entry
  if (year === null || !Number.isInteger(year) || year < 1900 || year > 2100) return { reason: 'year_invalid' }
  if (entry.month === null) return { year, month: null }
  const month = monthNumber(entry.month)
  return month === null ? { reason: 'month_invalid' } : { year, month }
}

function judgeInput(
  world: World,
  { fieldTypeId: sentId, value }: CalculatorInput,
): Pick<AcceptedInput, 'fieldTypeId' | 'value' | 'calculatorTypeIds'> | { reason: string } {
  const fieldTypeId = sentId.toLowerCase()
  const calculatorTypeIds = takenBy(world, fieldTypeId)
  if (calculatorTypeIds === null) return { reason: 'field_type_not_found' }
  if (value === null || value === undefined) return { fieldTypeId, value: null, calculatorTypeIds }
  // Values are stored as sent: a JSON number would already have lost what a double cannot hold.
  if (typeof value !== 'string') return { reason: 'value_type_mismatch' }
  if (value.trim() === '') return { fieldTypeId, value: null, calculatorTypeIds }
  const number = value.length > maxValueLength ? null : parseDecimal(value)
  if (!number) return { reason: 'value_not_numeric' }
  if (number.units < 0n) return { reason: 'value_negative' }
  return { fieldTypeId, value, calculatorTypeIds }
}

/** The types of calculator that take the field type, none for one that is not listed; null: there is no such type. */
function takenBy(world: World, fieldTypeId: string): readonly string[] | null {
  const listed = world.fieldTypesById.get(fieldTypeId)
  if (listed) return listed.calculatorTypeIds
  return world.incomplete.includes('fieldTypes') && isUuid(fieldTypeId) ? [] : null
}
