import type { BulkRequest, Contract, Endpoint, TaskName } from '../../exchange/contract.ts'
import { StopRun } from '../stop-run.ts'
import { documentKinds, isDocumentKind, type KindName, kindNames, searchKind } from '../streams/kind-names.ts'
import { streamsCarriedBy } from '../streams/our-streams.ts'
import { writeCalculators } from './bodies/calculators-body.ts'
import { writeCompanies } from './bodies/companies-body.ts'
import { writeCompanyMappings } from './bodies/company-mappings-body.ts'
import { writeFrameworkAnswers } from './bodies/framework-answers-body.ts'
import { writeStandardHolders } from './bodies/standard-holders-body.ts'
import { genericKind } from './generic/generic-kind.ts'
import type { Kind } from './kind.ts'
import { calculatorOutcome, mappingOutcome } from './outcomes/result-outcome.ts'

/** What a submission of a kind is at the service. */
type Request = { endpoint: Endpoint; taskName: TaskName }

export const kinds: Record<KindName, Kind & { request: BulkRequest }> = {
  company_mappings: {
    request: 'companyMappings',
    streams: streamsCarriedBy('company_mappings'),
    partitionBy: null,
    maxRows: (push) => push.maxCompaniesPerMapping,
    writeBody: writeCompanyMappings,
    outcomes: { list: (contract) => contract.names.companyMappingsResult.companies, read: mappingOutcome },
  },
  framework_answers: {
    request: 'frameworkAnswersUpsert',
    streams: streamsCarriedBy('framework_answers'),
    partitionBy: 'framework_id',
    maxRows: (push) => push.maxAnswersPerUpsert,
    writeBody: writeFrameworkAnswers,
    outcomes: 'error_rows',
  },
  calculators: {
    request: 'calculatorsUpsert',
    streams: streamsCarriedBy('calculators'),
    partitionBy: null,
    maxRows: (push) => push.maxCalculatorsPerUpsert,
    writeBody: writeCalculators,
    outcomes: { list: (contract) => contract.names.calculatorsResult.companies, read: calculatorOutcome },
  },
  companies: {
    request: 'companiesUpsert',
    streams: streamsCarriedBy('companies'),
    partitionBy: null,
    maxRows: (push) => push.maxValuesPerUpsert,
    writeBody: writeCompanies,
    outcomes: 'error_rows',
  },
  standard_holders: {
    request: 'standardHoldersUpsert',
    streams: streamsCarriedBy('standard_holders'),
    partitionBy: null,
    maxRows: (push) => push.maxHoldersPerUpsert,
    writeBody: writeStandardHolders,
    outcomes: 'error_rows',
  },
}

/** @throws {StopRun} when a stored submission has a kind that neither this version nor the contract knows. */
export function kindOf(contract: Contract, name: string): Kind {
  const known = kindNames.find((one) => one === name)
  if (known !== undefined) return kinds[known]
  const added = contract.kinds.find((kind) => kind.name === name)
  if (added === undefined) throw unknownKind(name)
  return genericKind(added)
}

/** Where a submission of a kind goes, and how its task names itself. @throws {StopRun} as `kindOf` does. */
export function requestOf(contract: Contract, name: string): Request {
  const known = kindNames.find((one) => one === name)
  const search = name === searchKind ? 'calculatorsSearch' : isDocumentKind(name) ? documentKinds[name] : undefined
  const request = search ?? (known && kinds[known].request)
  if (request !== undefined) return { endpoint: contract.endpoints[request], taskName: contract.taskNames[request] }
  const added = contract.kinds.find((kind) => kind.name === name)
  if (added === undefined) throw unknownKind(name)
  return added
}

/** How the tasks of every bulk request name themselves, searches included. */
export function taskNamesOf({ taskNames, kinds: added }: Contract): TaskName[] {
  return [...Object.values(taskNames), ...added.map(({ taskName }) => taskName)]
}

/** An older binary on a newer database, or a contract file from which a kind was taken while it was under way. */
function unknownKind(name: string): StopRun {
  return new StopRun(
    'kind_unknown',
    `Submissions of the kind ${name} are under way, and neither this version nor the contract file knows it. Put kinds.${name} back into the file that exchange.contract names, or give them up: nightferry submissions, nightferry abandon`,
  )
}
