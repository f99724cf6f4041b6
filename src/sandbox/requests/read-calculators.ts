import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import {
  idAsSent,
  judgedLater,
  list,
  optionalBoolean,
  optionalList,
  optionalNumber,
  optionalText,
  requiredId,
  text,
  wire,
} from './wire-spelling.ts'

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

/** Calculator upsert request (specification, Resources). */
export function calculatorsRequest(contract: Contract): z.ZodType<CalculatorsRequest> {
  const names = contract.names.calculators
  const value = z.string().nullish().meta({ description: 'A decimal number as text. Blank: the input is taken back.' })
  const input = wire(names, { fieldTypeId: idAsSent, value: judgedLater(value) }).meta({
    id: 'CalculatorInput',
  })
  const period = wire(names, {
    year: optionalNumber,
    month: optionalText.meta({ description: "A month's name; absent for a yearly calculator.", examples: ['March'] }),
  }).meta({ id: 'CalculatorInputPeriod' })
  const calculator = wire(names, { period: period.nullish(), inputs: list(input) })
    .transform(({ period: when, inputs }) => ({ year: when?.year ?? null, month: when?.month ?? null, inputs }))
    .meta({ id: 'CalculatorInputs', description: 'The inputs of one period.' })
  const company = wire(names, {
    identifier: text.meta({ description: "The company's value of the custom identifier." }),
    automaticYearlyCalculation: optionalBoolean.meta({ description: 'Absent: stays as it is.' }),
    automaticPublishing: optionalBoolean.meta({ description: 'Absent: stays as it is.' }),
    calculators: optionalList(calculator),
  }).meta({ id: 'CompanyCalculatorInputs' })
  return wire(names, {
    groupId: requiredId.meta({ description: 'The group that holds the companies.' }),
    customIdentifierId: requiredId.meta({ description: 'The custom identifier whose values name the companies.' }),
    companies: list(company),
  }).meta({ id: 'CalculatorsUpsertRequest' })
}

/** Input values of all companies together. */
export function countInputs(request: CalculatorsRequest): number {
  let inputs = 0
  for (const company of request.companies) {
    for (const calculator of company.calculators) inputs += calculator.inputs.length
  }
  return inputs
}
