import type { Contract } from '../../exchange/contract.ts'
import { catalogue } from '../catalogue.ts'
import { monthName } from '../month-names.ts'
import type { FoundCalculator, FoundCompany } from './read-companies-found.ts'

const typeTitles = new Map(catalogue.calculatorTypes.map((type) => [type.id, type.title]))

/** One company of a calculator search page (specification, Calculator search result page). */
export function describeCompany(
  contract: Contract,
  company: FoundCompany,
  fields: Map<string, string[]>,
  calculators: readonly FoundCalculator[],
): Record<string, unknown> {
  const names = contract.names.calculatorsPage
  return {
    [names.id]: company.id,
    [names.name]: company.name,
    ...(fields.size > 0 && { [names.fields]: Object.fromEntries(fields) }),
    [names.calculators]: calculators.map((calculator) => describeCalculator(contract, calculator)),
  }
}

function describeCalculator(contract: Contract, calculator: FoundCalculator): Record<string, unknown> {
  const names = contract.names.calculatorsPage
  const { id, typeId, year, month, inputs, outputs } = calculator
  const period = month === null ? `${year}` : `${monthName(month)} ${year}`
  return {
    [names.id]: id,
    [names.typeId]: typeId,
    [names.title]: `${typeTitles.get(typeId) ?? typeId}, ${period}`,
    [names.period]: { [names.year]: year, ...(month !== null && { [names.month]: monthName(month) }) },
    ...(Object.keys(inputs).length > 0 && { [names.inputs]: inputs }),
    ...(Object.keys(outputs).length > 0 && { [names.outputs]: outputs }),
  }
}
