import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { customFields } from './custom-fields.ts'
import { document, month, oncePer, uuid, value, year } from './document.ts'

/** A page of the calculator search (specification, Calculator search result page). */
export const calculatorsPage = oncePer((contract: Contract) => {
  const names = contract.names.calculatorsPage
  const variable = document(names, { id: uuid, name: z.string().min(1) }).meta({ id: 'CalculatorVariable' })
  const values = z.record(uuid, value).meta({ minProperties: 1 })
  const period = document(names, {
    year,
    month: month.optional().meta({ description: 'Present on monthly calculators only.' }),
  }).meta({ id: 'CalculatorPeriod' })
  const calculator = document(names, {
    id: uuid,
    typeId: uuid,
    title: z.string(),
    period,
    inputs: values.optional().meta({ description: 'By variable id. Absent when there are no input values.' }),
    outputs: values.optional().meta({ description: 'By variable id. Absent when there are no output values.' }),
  }).meta({ id: 'Calculator', description: 'Values are the strings that are stored, not parsed numbers.' })
  const { customProperties, fields } = customFields(names)
  const company = document(names, {
    id: uuid,
    name: z.string(),
    fields,
    calculators: z.array(calculator).meta({ description: 'Empty when none match.' }),
  }).meta({ id: 'CalculatorsPageCompany' })
  return document(names, {
    customProperties,
    calculatorVariables: z.array(variable).min(1).optional().meta({
      description: 'Every variable on the page. Absent when no calculator carries a value.',
    }),
    companies: z.array(company),
  }).meta({ id: 'CalculatorsPage' })
})
