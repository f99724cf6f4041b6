import type { World } from '../service-world.ts'
import { uuidFrom } from '../uuid-from.ts'
import { computeOutputs, sumInputs, type Values } from './compute-outputs.ts'
import type { AcceptedInput } from './judge-calculators.ts'

/** A calculator of a company: month null for a yearly one. */
export type Calculator = {
  id: string
  companyId: string
  typeId: string
  year: number
  month: number | null
  /** As sent. */
  inputs: Values
  /** Of a yearly calculator with automatic calculation: the sums of the year's months. What was sent wins over them. */
  summed: Values
  outputs: Values
  /** The digest of the outputs that were published last; null: none are. */
  published: string | null
}

/** The same company, type and period always have the same calculator. */
export function calculatorId(companyId: string, typeId: string, year: number, month: number | null): string {
  return uuidFrom(`calculator ${companyId} ${typeId} ${year} ${month ?? 'year'}`)
}

/** The inputs that count. */
function effectiveInputs(calculator: Pick<Calculator, 'inputs' | 'summed'>): Values {
  return { ...calculator.summed, ...calculator.inputs }
}

/** The calculators of one company, by type and period. */
export type CompanyCalculators = {
  companyId: string
  byKey: Map<string, Calculator>
  /** Those of them that are not stored yet. */
  created: Set<Calculator>
}

export function createCompany(companyId: string, calculators: readonly Calculator[]): CompanyCalculators {
  const keyed = calculators.map((one) => [keyOf(one.typeId, one.year, one.month), one] as const)
  return { companyId, byKey: new Map(keyed), created: new Set() }
}

/** Puts an input into the calculator of every type that takes it; a calculator begins with its first value. */
export function applyInput(company: CompanyCalculators, input: AcceptedInput): void {
  for (const typeId of input.calculatorTypeIds) {
    const calculator = findOrCreate(company, typeId, input.year, input.month, input.value !== null)
    if (!calculator) continue
    const { [input.fieldTypeId]: _replaced, ...others } = calculator.inputs
    calculator.inputs = input.value === null ? others : { ...others, [input.fieldTypeId]: input.value }
  }
}

/**
 * Brings the company's yearly calculators in line with its monthly ones, and all outputs with their inputs.
 * Switched off, the sums go, and with them the yearly calculators that were nothing else: the state does not depend
 * on the order in which inputs and settings came. Returns the ids of the calculators that ceased to exist.
 */
export function recalculate(world: World, company: CompanyCalculators, automatic: boolean): string[] {
  const years = new Map<string, Calculator[]>()
  for (const calculator of company.byKey.values()) {
    const key = `${calculator.typeId} ${calculator.year}`
    years.set(key, [...(years.get(key) ?? []), calculator])
  }
  const gone: string[] = []
  for (const [first, ...rest] of years.values()) {
    if (!first) continue
    const months = [first, ...rest].filter((calculator) => calculator.month !== null)
    const summed = automatic ? sumInputs(months.map((month) => month.inputs)) : {}
    const wanted = Object.keys(summed).length > 0
    const yearly = findOrCreate(company, first.typeId, first.year, null, wanted)
    if (!yearly) continue
    const derived = Object.keys(yearly.inputs).length === 0 && Object.keys(yearly.summed).length > 0
    yearly.summed = summed
    if (derived && !wanted) {
      company.byKey.delete(keyOf(yearly.typeId, yearly.year, null))
      gone.push(yearly.id)
    }
  }
  for (const calculator of company.byKey.values()) {
    calculator.outputs = computeOutputs(world, calculator, effectiveInputs(calculator))
  }
  return gone
}

function findOrCreate(
  { companyId, byKey, created }: CompanyCalculators,
  typeId: string,
  year: number,
  month: number | null,
  create: boolean,
): Calculator | undefined {
  const key = keyOf(typeId, year, month)
  const found = byKey.get(key)
  if (found || !create) return found
  const id = calculatorId(companyId, typeId, year, month)
  const calculator: Calculator = {
    ...{ id, companyId, typeId, year, month },
    ...{ inputs: {}, summed: {}, outputs: {}, published: null },
  }
  byKey.set(key, calculator)
  created.add(calculator)
  return calculator
}

function keyOf(typeId: string, year: number, month: number | null): string {
  return `${typeId} ${year} ${month ?? 'year'}`
}
