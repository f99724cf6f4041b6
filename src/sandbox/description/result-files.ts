import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { document, oncePer, uuid } from './document.ts'

/** The single files of the imports that have one. */
export const resultFiles = oncePer((contract: Contract) => {
  const mappings = contract.names.companyMappingsResult
  const mapping = document(mappings, {
    id: z.string().meta({ description: "The partner's own id, as it was sent." }),
    status: z.enum([mappings.mapped, mappings.notFound]),
    companyId: uuid.optional().meta({ description: `Present when ${mappings.mapped}.` }),
    reason: z
      .string()
      .optional()
      .meta({ description: `Present when ${mappings.notFound}.` }),
  }).meta({ id: 'MappedCompany' })

  const calculators = contract.names.calculatorsResult
  const inputError = document(calculators, {
    fieldTypeId: z
      .string()
      .optional()
      .meta({ description: 'As it was sent; absent when no single input is at fault.' }),
    reason: z.string().min(1).meta({ description: 'Stable.' }),
  }).meta({ id: 'CalculatorInputError' })
  const company = document(calculators, {
    identifier: z.string().meta({ description: 'As it was sent.' }),
    companyId: uuid.optional().meta({ description: 'Absent when no company could be told.' }),
    status: z.enum([calculators.success, calculators.failed]),
    errors: z
      .array(inputError)
      .min(1)
      .optional()
      .meta({ description: `Present when ${calculators.failed}.` }),
  }).meta({ id: 'CompanyOutcome' })
  return {
    mappingResult: document(mappings, { companies: z.array(mapping) }).meta({ id: 'CompanyMappingsResult' }),
    calculatorsResult: document(calculators, { companies: z.array(company) }).meta({ id: 'CalculatorsResult' }),
  }
})
