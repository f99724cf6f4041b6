import type { z } from 'zod'
import type { BulkRequest, Contract, Endpoint } from '../../exchange/contract.ts'
import { pages } from '../description/pages.ts'
import { resultFiles } from '../description/result-files.ts'
import type { BodyKind } from '../requests/read-bulk-request.ts'

/** One address that takes bulk requests. */
type BulkEndpoint = Pick<Endpoint, 'method' | 'path'> & {
  id: string
  /** What the task is. */
  task: BulkRequest
  /** What the body is. */
  body: BodyKind
  summary: string
  description: string
  deprecated?: boolean
  /** What is behind the addresses that the finished task gives; absent: it gives none. */
  resultFile?: z.ZodType
}

const queued =
  'The request is queued and answered with a correlation id; it is not processed while the client waits. ' +
  'Poll the task until it reports a terminal status, at an interval. Requests of one key are picked up in the order ' +
  'sent, run in parallel and can end in another order.'
const pagesFollow =
  'The finished task lists page addresses; each page is a complete document as x-result-file describes it. ' +
  'A custom property that the profile does not own is left out, not rejected.'
const rowsFollow = 'There is no result file. The task carries its status and every failed row with its reason.'

/** Every bulk endpoint, the deprecated ones included (specification, Endpoints and Versioning). */
export function bulkEndpoints(contract: Contract): BulkEndpoint[] {
  return [...imports(contract), ...searches(contract), ...deprecated(contract)]
}

function imports(contract: Contract): BulkEndpoint[] {
  const { endpoints } = contract
  const files = resultFiles(contract)
  const endpoint = (
    kind: BulkRequest,
    texts: [what: string, rules: string, sections: string],
    resultFile?: z.ZodType,
  ) => {
    const [summary, rules, sections] = texts
    return {
      ...endpoints[kind],
      ...{ id: kind, task: kind, body: kind, summary },
      description: `${rules}\n\n${queued}\n\nSpecification: Rules of processing, Endpoints, ${sections}.`,
      ...(resultFile && { resultFile }),
    }
  }
  return [
    endpoint(
      'companyMappings',
      [
        "Maps the partner's own properties onto the service's companies",
        'Each property is searched for by the detail that is given, and the partner id is stored under the custom ' +
          'identifier of the company that is found; later requests can then name the company by it alone. Send fewer ' +
          'than 100,000 companies per request. The finished task has one file with an entry for each property.',
        'Company mapping request, Limits',
      ],
      files.mappingResult,
    ),
    endpoint('frameworkAnswersUpsert', [
      'Imports framework answers and omissions',
      'At most 50,000 answers and omissions combined. A Yearly period covers twelve months from its month, January ' +
        `when none is named; a Monthly period is one month. Units and options are named by their ids. ${rowsFollow}`,
      'Framework answers upsert request, Limits',
    ]),
    endpoint(
      'calculatorsUpsert',
      [
        'Imports calculator inputs',
        'The inputs of each company are taken whole or not at all. Queued means that the import has started, not ' +
          'that any calculator has run. The finished task has one file with the outcome of each company.',
        'Calculator upsert request, Errors',
      ],
      files.calculatorsResult,
    ),
    endpoint('companiesUpsert', ['Imports custom property values', rowsFollow, 'Versioning']),
    endpoint('standardHoldersUpsert', ['Imports certifications and commitments held', rowsFollow, 'Versioning']),
  ]
}

function searches(contract: Contract): BulkEndpoint[] {
  const { endpoints } = contract
  const documents = pages(contract)
  const endpoint = (kind: keyof typeof documents, summary: string, section: string) => ({
    ...endpoints[kind],
    ...{ id: kind, task: kind, body: kind, summary },
    description: `${pagesFollow}\n\n${queued}\n\nSpecification: Rules of processing, Endpoints, ${section}.`,
    resultFile: documents[kind],
  })
  return [
    endpoint('calculatorsSearch', 'Searches calculators', 'Calculator search result page'),
    endpoint('companiesSearch', 'Searches companies', 'Versioning'),
    endpoint('standardsSearch', 'Searches standards', 'Versioning'),
    endpoint('standardHoldersSearch', 'Searches which companies hold which standards', 'Versioning'),
    endpoint('frameworkAnswersSearch', 'Searches framework answers and omissions', 'Versioning'),
  ]
}

function deprecated(contract: Contract): BulkEndpoint[] {
  const { otherEndpoints } = contract
  const successors = new Map([...imports(contract), ...searches(contract)].map((endpoint) => [endpoint.task, endpoint]))
  const endpoint = (id: keyof typeof otherEndpoints, task: BulkRequest, body: BodyKind = task): BulkEndpoint => {
    const { summary = '', path = '', resultFile } = successors.get(task) ?? {}
    return {
      ...otherEndpoints[id],
      ...{ id, task, body, deprecated: true },
      summary: `${summary} (deprecated)`,
      description: `Answers as its successor, ${path}, does.\n\nSpecification: Versioning.`,
      ...(resultFile && { resultFile }),
    }
  }
  return [
    endpoint('companiesSearchV1', 'companiesSearch'),
    endpoint('standardsSearchV1', 'standardsSearch'),
    endpoint('frameworkAnswersSearchV1', 'frameworkAnswersSearch'),
    endpoint('calculatorsSearchV1', 'calculatorsSearch'),
    endpoint('performanceAnswersUpsertV1', 'frameworkAnswersUpsert'),
    endpoint('companiesUpsertV1', 'companyMappings'),
    {
      ...endpoint('standardHoldersUpsertV1', 'standardHoldersUpsert', 'consolidatedUpsert'),
      summary: 'Imports custom property values and standards held in one request (deprecated)',
      description: `The bodies of ${contract.endpoints.companiesUpsert.path} and ${contract.endpoints.standardHoldersUpsert.path} in one.\n\nSpecification: Versioning.`,
    },
  ]
}
