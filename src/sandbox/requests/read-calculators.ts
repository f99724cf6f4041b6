import type { Contract } from '../../exchange/contract.ts'
import {
  asObject,
  type JsonObject,
  objects,
  optionalBoolean,
  optionalNumber,
  optionalObject,
  optionalObjects,
  optionalText,
  requiredUuid,
  text,
} from './read-json.ts'

export type CalculatorInput = { fieldTypeId: string; value: unknown }
export type CalculatorEntry = { year: number | null; month: string | null; inputs: CalculatorInput[] }
export type CalculatorCompany = {
  identifier: string
  /** null: leave the company's setting as it is. */
  automaticYearlyCalculation: boolean | null
  automaticPublishing: boolean | null
  calculators: CalculatorEntry[]
}
export type CalculatorsRequest = { groupId: string; customIdentifierId: string; companies: CalculatorCompany[] }

/** @throws {RequestRefused} 400 when the body has another shape, or names no group or no custom identifier. */
export function readCalculators(contract: Contract, body: unknown): CalculatorsRequest {
  const names = contract.names.calculators
  const request = asObject(body, 'body')
  return {
    groupId: requiredUuid(request, names.groupId, 'body'),
    customIdentifierId: requiredUuid(request, names.customIdentifierId, 'body'),
    companies: objects(request, names.companies, 'body').map((company, index) => {
      const at = `body.${names.companies}[${index}]`
      return {
        identifier: text(company, names.identifier, at),
        automaticYearlyCalculation: optionalBoolean(company, names.automaticYearlyCalculation, at),
        automaticPublishing: optionalBoolean(company, names.automaticPublishing, at),
        calculators: optionalObjects(company, names.calculators, at).map((entry, nth) =>
          readEntry(contract, entry, `${at}.${names.calculators}[${nth}]`),
        ),
      }
    }),
  }
}

/** Input values of all companies together. */
export function countInputs(request: CalculatorsRequest): number {
  let inputs = 0
  for (const company of request.companies) {
    for (const calculator of company.calculators) inputs += calculator.inputs.length
  }
  return inputs
}

function readEntry(contract: Contract, entry: JsonObject, at: string): CalculatorEntry {
  const names = contract.names.calculators
  const period = optionalObject(entry, names.period, at) ?? {}
  return {
    year: optionalNumber(period, names.year, at),
    month: optionalText(period, names.month, at),
    inputs: objects(entry, names.inputs, at).map((input, index) => ({
      fieldTypeId: text(input, names.fieldTypeId, `${at}.${names.inputs}[${index}]`).toLowerCase(),
      value: input[names.value],
    })),
  }
}
