import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { customPropertyIds } from './read-search.ts'
import { selection, wire } from './wire-spelling.ts'

/** null: no custom property was asked for. */
export type CompaniesSearchRequest = { customPropertyIds: string[] | null }
/** Every standard; nothing can be selected. */
export type StandardsSearchRequest = Record<string, never>
/** Empty: of every standard. */
export type StandardHoldersSearchRequest = { standardIds: string[] }
/** `frameworkIds` empty: of every framework. */
export type FrameworkAnswersSearchRequest = { frameworkIds: string[]; customPropertyIds: string[] | null }

export function companiesSearchRequest(contract: Contract): z.ZodType<CompaniesSearchRequest> {
  return wire(contract.names.companiesSearch, { customPropertyIds }).meta({ id: 'CompaniesSearchRequest' })
}

export function standardsSearchRequest(): z.ZodType<StandardsSearchRequest> {
  return z
    .object({})
    .transform((): StandardsSearchRequest => ({}))
    .meta({ id: 'StandardsSearchRequest' })
}

export function standardHoldersSearchRequest(contract: Contract): z.ZodType<StandardHoldersSearchRequest> {
  const standardIds = selection.meta({ description: 'Standards to select; none: every standard.' })
  return wire(contract.names.standardHoldersSearch, { standardIds }).meta({ id: 'StandardHoldersSearchRequest' })
}

export function frameworkAnswersSearchRequest(contract: Contract): z.ZodType<FrameworkAnswersSearchRequest> {
  const frameworkIds = selection.meta({ description: 'Frameworks to select; none: every framework.' })
  return wire(contract.names.frameworkAnswersSearch, { frameworkIds, customPropertyIds }).meta({
    id: 'FrameworkAnswersSearchRequest',
  })
}
