import type { OutputVariable } from '../catalogue/calculator-types.ts'
import { add, type Decimal, divide, formatDecimal, multiply, parseDecimal, zero } from '../decimal.ts'
import type { World } from '../service-world.ts'

/** Values as text by variable id. */
export type Values = Record<string, string>

/** Decimals of an output that is a quotient; sums and products are exact. */
const quotientScale = 6

/**
 * The outputs of a calculator of this type: decimal text, the same for the same inputs. An output exists when at least
 * one of its terms has an input and, for a quotient, the divisor has one above zero. One without terms, or that no
 * variable declares, stays as it stands: nobody knows its formula.
 */
export function computeOutputs(world: World, of: { typeId: string; outputs: Values }, inputs: Values): Values {
  const known = world.outputVariables.filter(
    ({ calculatorTypeId, terms }) => calculatorTypeId === of.typeId && terms.length > 0,
  )
  const outputs = { ...of.outputs }
  for (const variable of known) {
    const value = compute(variable, inputs)
    if (value) outputs[variable.id] = formatDecimal(value)
    else delete outputs[variable.id]
  }
  return outputs
}

/** Sums of each variable over several calculators' inputs. */
export function sumInputs(months: readonly Values[]): Values {
  const sums = new Map<string, Decimal>()
  for (const inputs of months) {
    for (const [id, value] of Object.entries(inputs)) sums.set(id, add(sums.get(id) ?? zero, decimal(value) ?? zero))
  }
  return Object.fromEntries([...sums].map(([id, sum]) => [id, formatDecimal(sum)]))
}

function compute(variable: OutputVariable, inputs: Values): Decimal | null {
  let sum: Decimal | null = null
  for (const { fieldTypeId, factor } of variable.terms) {
    const input = decimal(inputs[fieldTypeId])
    const weight = decimal(factor)
    if (input && weight) sum = add(sum ?? zero, multiply(input, weight))
  }
  if (sum === null || variable.perFieldTypeId === null) return sum
  const divisor = decimal(inputs[variable.perFieldTypeId])
  return divisor && divisor.units > 0n ? divide(sum, divisor, quotientScale) : null
}

function decimal(text: string | undefined): Decimal | null {
  return text === undefined ? null : parseDecimal(text)
}
