import type { Config, StreamName } from '../../config/schema.ts'
import type { BulkRequest } from '../../exchange/contract.ts'
import type { BodyWriter } from './bodies/body.ts'
import { writeCalculators } from './bodies/calculators.ts'
import { writeCompanies } from './bodies/companies.ts'
import { writeCompanyMappings } from './bodies/company-mappings.ts'
import { writeFrameworkAnswers } from './bodies/framework-answers.ts'
import { writeStandardHolders } from './bodies/standard-holders.ts'

/** The kinds of bulk request that carry rows, in the order in which waves are planned. */
export const kindNames = [
  'company_mappings',
  'framework_answers',
  'calculators',
  'companies',
  'standard_holders',
] as const
export type KindName = (typeof kindNames)[number]

export type Kind = {
  request: BulkRequest
  /** Streams whose rows travel in requests of this kind. */
  streams: readonly StreamName[]
  /** A content column that requests are kept apart by. */
  partitionBy: 'framework_id' | null
  maxRows: (push: Config['push']) => number
  writeBody: BodyWriter
  /** Where the outcome of each row is read: a file that names every company, or the rows that the task's error names. */
  outcomes: 'result_file' | 'error_rows'
}

export const kinds: Record<KindName, Kind> = {
  company_mappings: {
    request: 'companyMappings',
    streams: ['properties'],
    partitionBy: null,
    maxRows: (push) => push.maxCompaniesPerMapping,
    writeBody: writeCompanyMappings,
    outcomes: 'result_file',
  },
  framework_answers: {
    request: 'frameworkAnswersUpsert',
    streams: ['framework_answers', 'omissions'],
    partitionBy: 'framework_id',
    maxRows: (push) => push.maxAnswersPerUpsert,
    writeBody: writeFrameworkAnswers,
    outcomes: 'error_rows',
  },
  calculators: {
    request: 'calculatorsUpsert',
    streams: ['calculator_inputs', 'calculator_settings'],
    partitionBy: null,
    maxRows: (push) => push.maxCalculatorsPerUpsert,
    writeBody: writeCalculators,
    outcomes: 'result_file',
  },
  companies: {
    request: 'companiesUpsert',
    streams: ['custom_property_values'],
    partitionBy: null,
    maxRows: (push) => push.maxValuesPerUpsert,
    writeBody: writeCompanies,
    outcomes: 'error_rows',
  },
  standard_holders: {
    request: 'standardHoldersUpsert',
    streams: ['standard_holders'],
    partitionBy: null,
    maxRows: (push) => push.maxHoldersPerUpsert,
    writeBody: writeStandardHolders,
    outcomes: 'error_rows',
  },
}

/** The kind of the calculator search: a submission like the others, without rows. */
export const searchKind = 'calculators_search'

/** The bulk request that a submission's kind stands for. */
export function requestOf(kind: string): BulkRequest {
  if (kind === searchKind) return 'calculatorsSearch'
  return kindOf(kind).request
}

/** @throws when a stored submission has a kind that this version does not know: an older binary on a newer database. */
export function kindOf(kind: string): Kind {
  const known = kindNames.find((name) => name === kind)
  if (known === undefined) throw new Error(`the submission's kind ${kind} is not known to this version`)
  return kinds[known]
}
