import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import { storable } from '../storable.ts'
import { requireGroup, requireIdentifier } from './check-access.ts'
import { type AnswersRequest, countAnswers, readAnswers } from './read-answers.ts'
import { type CalculatorsRequest, countInputs, readCalculators } from './read-calculators.ts'
import { type CompaniesRequest, readCompanies } from './read-companies.ts'
import { type MappingRequest, readMappings } from './read-mappings.ts'
import { readSearch, type SearchRequest } from './read-search.ts'
import { readStandardHolders, type StandardHoldersRequest } from './read-standard-holders.ts'

export type ReadRequest =
  | { kind: 'companyMappings'; body: MappingRequest }
  | { kind: 'frameworkAnswersUpsert'; body: AnswersRequest }
  | { kind: 'calculatorsUpsert'; body: CalculatorsRequest }
  | { kind: 'companiesUpsert'; body: CompaniesRequest }
  | { kind: 'standardHoldersUpsert'; body: StandardHoldersRequest }
  | { kind: 'calculatorsSearch'; body: SearchRequest }

/**
 * A bulk request's body in our own names.
 * @throws {RequestRefused} 400 when its shape is wrong or something required is missing.
 */
export function readBulkRequest(contract: Contract, kind: BulkRequest, body: unknown): ReadRequest {
  switch (kind) {
    case 'companyMappings':
      return { kind, body: readMappings(contract, body) }
    case 'frameworkAnswersUpsert':
      return { kind, body: readAnswers(contract, body) }
    case 'calculatorsUpsert':
      return { kind, body: readCalculators(contract, body) }
    case 'companiesUpsert':
      return { kind, body: readCompanies(contract, body) }
    case 'standardHoldersUpsert':
      return { kind, body: readStandardHolders(contract, body) }
    case 'calculatorsSearch':
      return { kind, body: readSearch(contract, body) }
    default:
      throw new RequestRefused(501, 'not_built', kind)
  }
}

/** @throws {RequestRefused} 403 when the request names a group or an identifier that the profile cannot use. */
export function checkAccess(profileId: number, request: ReadRequest): void {
  if ('groupId' in request.body) requireGroup(profileId, request.body.groupId)
  if ('customIdentifierId' in request.body) requireIdentifier(profileId, request.body.customIdentifierId)
}

/** How much a request holds, for the time that it takes. A search holds nothing and reads every known company. */
export function countItems(request: ReadRequest, knownCompanies: number): number {
  switch (request.kind) {
    case 'companyMappings':
    case 'companiesUpsert':
      return request.body.companies.length
    case 'frameworkAnswersUpsert':
      return countAnswers(request.body)
    case 'calculatorsUpsert':
      return countInputs(request.body)
    case 'standardHoldersUpsert':
      return request.body.holders.length
    case 'calculatorsSearch':
      return knownCompanies
  }
}

/** The partner's ids (or company ids) that a request carries, each once, for the request log. */
export function identifiersOf(request: ReadRequest): string[] {
  return [...new Set(namedIn(request).map(storable))]
}

function namedIn(request: ReadRequest): string[] {
  switch (request.kind) {
    case 'companyMappings':
      return request.body.companies.map((company) => company.id)
    case 'frameworkAnswersUpsert':
      return request.body.companies.map(({ reference }) =>
        'companyId' in reference ? reference.companyId : reference.value,
      )
    case 'calculatorsUpsert':
    case 'companiesUpsert':
      return request.body.companies.map((company) => company.identifier)
    case 'standardHoldersUpsert':
      return request.body.holders.map((holder) => holder.identifier)
    case 'calculatorsSearch':
      return []
  }
}
