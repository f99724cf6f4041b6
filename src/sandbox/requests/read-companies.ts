import type { Contract } from '../../exchange/contract.ts'
import { asObject, objects, optionalText, requiredUuid, text } from './read-json.ts'

export type CompanyProperties = { identifier: string; properties: { propertyId: string; value: string }[] }
export type CompaniesRequest = { customIdentifierId: string; companies: CompanyProperties[] }

/** @throws {RequestRefused} 400 when the body has another shape, or names no custom identifier. */
export function readCompanies(contract: Contract, body: unknown): CompaniesRequest {
  const names = contract.names.companies
  const request = asObject(body, 'body')
  return {
    customIdentifierId: requiredUuid(request, names.customIdentifierId, 'body'),
    companies: objects(request, names.companies, 'body').map((company, index) => {
      const at = `body.${names.companies}[${index}]`
      return {
        identifier: text(company, names.identifier, at),
        properties: objects(company, names.customProperties, at).map((property, nth) => {
          const here = `${at}.${names.customProperties}[${nth}]`
          return {
            propertyId: text(property, names.propertyId, here).toLowerCase(),
            value: optionalText(property, names.value, here) ?? '',
          }
        }),
      }
    }),
  }
}
