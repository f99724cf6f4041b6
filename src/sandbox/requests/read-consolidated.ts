import type { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { type CompanyProperties, companyProperties } from './read-companies.ts'
import { type StandardHolder, standardHolder } from './read-standard-holders.ts'
import { optionalList, requiredId, wire } from './wire-spelling.ts'

/** Custom property values and standards held in one request, as the deprecated consolidated endpoint takes them. */
export type ConsolidatedRequest = {
  customIdentifierId: string
  companies: CompanyProperties[]
  holders: StandardHolder[]
}

/**
 * The bodies of both successors in one. Spec gap: the deprecated body is not shown, docs/spec-gaps.md.
 */
export function consolidatedRequest(contract: Contract): z.ZodType<ConsolidatedRequest> {
  const { companies, standardHolders } = contract.names
  const names = { ...companies, holders: standardHolders.holders }
  return wire(names, {
    customIdentifierId: requiredId.meta({ description: 'The custom identifier whose values name the companies.' }),
    companies: optionalList(companyProperties(contract)),
    holders: optionalList(standardHolder(contract)),
  }).meta({ id: 'ConsolidatedUpsertRequest' })
}
