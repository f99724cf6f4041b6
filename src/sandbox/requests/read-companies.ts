import type { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { idAsSent, list, optionalText, requiredId, text, wire } from './wire-spelling.ts'

export type CompanyProperties = { identifier: string; properties: { propertyId: string; value: string }[] }
export type CompaniesRequest = { customIdentifierId: string; companies: CompanyProperties[] }

/** Custom property values of one company. */
export function companyProperties(contract: Contract): z.ZodType<CompanyProperties> {
  const names = contract.names.companies
  const property = wire(names, {
    propertyId: idAsSent,
    value: optionalText.meta({ description: 'Blank or absent: the value is taken away.' }),
  })
    .transform(({ propertyId, value }) => ({ propertyId, value: value ?? '' }))
    .meta({ id: 'CustomPropertyValue' })
  return wire(names, { identifier: text, customProperties: list(property) })
    .transform(({ identifier, customProperties }) => ({ identifier, properties: customProperties }))
    .meta({
      id: 'CompanyPropertyValues',
      description: 'What is sent of a property replaces what the company has of it.',
    })
}

/** Custom property values of companies that are named by an identifier. */
export function companiesRequest(contract: Contract): z.ZodType<CompaniesRequest> {
  return wire(contract.names.companies, {
    customIdentifierId: requiredId.meta({ description: 'The custom identifier whose values name the companies.' }),
    companies: list(companyProperties(contract)),
  }).meta({ id: 'CompaniesUpsertRequest' })
}
