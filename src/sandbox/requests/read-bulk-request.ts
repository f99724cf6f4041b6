import type { z } from 'zod'
import type { BulkRequest, Contract } from '../../exchange/contract.ts'
import type { World } from '../service-world.ts'
import { storable } from '../storable-text.ts'
import { requireGroup, requireIdentifier, requireProperty } from './check-access.ts'
import { checkBody } from './check-body.ts'
import { type AnswersRequest, answersRequest, checkAnswerCount, countAnswers } from './read-answers.ts'
import { type CalculatorsRequest, calculatorsRequest, countInputs } from './read-calculators.ts'
import { type CompaniesRequest, companiesRequest } from './read-companies.ts'
import { type ConsolidatedRequest, consolidatedRequest } from './read-consolidated.ts'
import { parseBody } from './read-json.ts'
import { type MappingRequest, mappingRequest } from './read-mappings.ts'
import { calculatorsSearchRequest, type SearchRequest } from './read-search.ts'
import {
  type CompaniesSearchRequest,
  companiesSearchRequest,
  type FrameworkAnswersSearchRequest,
  frameworkAnswersSearchRequest,
  type StandardHoldersSearchRequest,
  type StandardsSearchRequest,
  standardHoldersSearchRequest,
  standardsSearchRequest,
} from './read-searches.ts'
import { type StandardHoldersRequest, standardHoldersRequest } from './read-standard-holders.ts'

type Bodies = {
  companyMappings: MappingRequest
  frameworkAnswersUpsert: AnswersRequest
  calculatorsUpsert: CalculatorsRequest
  companiesUpsert: CompaniesRequest
  standardHoldersUpsert: StandardHoldersRequest
  calculatorsSearch: SearchRequest
  companiesSearch: CompaniesSearchRequest
  standardsSearch: StandardsSearchRequest
  standardHoldersSearch: StandardHoldersSearchRequest
  frameworkAnswersSearch: FrameworkAnswersSearchRequest
  consolidatedUpsert: ConsolidatedRequest
}

/** The bulk requests, and the deprecated one whose body is no other's. */
export type BodyKind = keyof Bodies

/** A bulk request in our own names. */
export type ReadRequest = { [Kind in BodyKind]: { kind: Kind; body: Bodies[Kind] } }[BodyKind]

const known = new WeakMap<Contract, Record<BodyKind, z.ZodType<ReadRequest>>>()

/** The schemas of all bodies: their input is what stands on the wire, their output what is read from it. */
export function bulkBodies(contract: Contract): Record<BodyKind, z.ZodType<ReadRequest>> {
  const bodies = known.get(contract) ?? {
    companyMappings: of('companyMappings', mappingRequest(contract)),
    frameworkAnswersUpsert: of('frameworkAnswersUpsert', answersRequest(contract)),
    calculatorsUpsert: of('calculatorsUpsert', calculatorsRequest(contract)),
    companiesUpsert: of('companiesUpsert', companiesRequest(contract)),
    standardHoldersUpsert: of('standardHoldersUpsert', standardHoldersRequest(contract)),
    calculatorsSearch: of('calculatorsSearch', calculatorsSearchRequest(contract)),
    companiesSearch: of('companiesSearch', companiesSearchRequest(contract)),
    standardsSearch: of('standardsSearch', standardsSearchRequest()),
    standardHoldersSearch: of('standardHoldersSearch', standardHoldersSearchRequest(contract)),
    frameworkAnswersSearch: of('frameworkAnswersSearch', frameworkAnswersSearchRequest(contract)),
    consolidatedUpsert: of('consolidatedUpsert', consolidatedRequest(contract)),
  }
  known.set(contract, bodies)
  return bodies
}

function of<Kind extends BodyKind>(kind: Kind, body: z.ZodType<Bodies[Kind]>) {
  return body.transform((read) => ({ kind, body: read }))
}

/**
 * A bulk request's body in our own names.
 * @throws {RequestRefused} 400 when its shape is wrong, something required is missing, or it holds too much.
 */
export function readBulkRequest(contract: Contract, kind: BodyKind, body: unknown): ReadRequest {
  const request = checkBody(bulkBodies(contract)[kind], body)
  checkLimits(request)
  return request
}

/**
 * The body of a queued task, as it was read when it was queued. A consolidated request is a task of standard holders,
 * told apart by the path to which it was sent.
 */
export function readStoredRequest(
  contract: Contract,
  task: { request: BulkRequest; path: string },
  bytes: Uint8Array,
): ReadRequest {
  const consolidated = task.path === contract.otherEndpoints.standardHoldersUpsertV1.path
  return readBulkRequest(contract, consolidated ? 'consolidatedUpsert' : task.request, parseBody(bytes))
}

/** @throws {RequestRefused} 400 when the request holds more than is accepted. */
export function checkLimits(request: ReadRequest): void {
  if (request.kind === 'frameworkAnswersUpsert') checkAnswerCount(request.body)
}

/** @throws {RequestRefused} 403 when the request names a group or a custom property that the profile cannot use. */
export function checkAccess(world: World, profileId: number, request: ReadRequest): void {
  if ('groupId' in request.body) requireGroup(world, profileId, request.body.groupId)
  if ('customIdentifierId' in request.body) requireIdentifier(world, profileId, request.body.customIdentifierId)
  for (const id of propertiesIn(request)) requireProperty(world, profileId, id)
}

/** The custom properties that rows of a request name, each once. Those of a search are left out, not refused. */
function propertiesIn(request: ReadRequest): Set<string> {
  const { kind, body } = request
  if (kind === 'frameworkAnswersUpsert')
    return new Set(body.companies.flatMap(({ reference }) => ('propertyId' in reference ? [reference.propertyId] : [])))
  if (kind !== 'companiesUpsert' && kind !== 'consolidatedUpsert') return new Set()
  const rows = body.companies.flatMap(({ properties }) => properties)
  return new Set(rows.map(({ propertyId }) => propertyId.toLowerCase()))
}

/** How much a request holds, for the time that it takes. A search holds nothing and reads every known company. */
export function countItems(request: ReadRequest, known: { companies: number; standards: number }): number {
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
    case 'consolidatedUpsert':
      return request.body.companies.length + request.body.holders.length
    case 'standardsSearch':
      return known.standards
    case 'calculatorsSearch':
    case 'companiesSearch':
    case 'standardHoldersSearch':
    case 'frameworkAnswersSearch':
      return known.companies
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
        'companyId' in reference ? reference.companyId.toLowerCase() : reference.value,
      )
    case 'calculatorsUpsert':
    case 'companiesUpsert':
      return request.body.companies.map((company) => company.identifier)
    case 'standardHoldersUpsert':
      return request.body.holders.map((holder) => holder.identifier)
    case 'consolidatedUpsert':
      return [...request.body.companies, ...request.body.holders].map(({ identifier }) => identifier)
    case 'calculatorsSearch':
    case 'companiesSearch':
    case 'standardsSearch':
    case 'standardHoldersSearch':
    case 'frameworkAnswersSearch':
      return []
  }
}
