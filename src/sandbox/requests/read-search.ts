import type { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { selection, wire } from './wire-spelling.ts'

export type SearchRequest = {
  /** In the order asked for, without repetitions; null: none were asked for. */
  customPropertyIds: string[] | null
  /** Empty: every type. */
  calculatorTypeIds: string[]
}

/** The custom properties that a search is to give with each company. */
export const customPropertyIds = selection
  .transform((ids) => (ids.length === 0 ? null : ids))
  .meta({ description: 'Custom properties to give with each company. One that the profile does not own is left out.' })

/** Calculator search request. */
export function calculatorsSearchRequest(contract: Contract): z.ZodType<SearchRequest> {
  const calculatorTypeIds = selection.meta({ description: 'Calculator types to select; none: every type.' })
  return wire(contract.names.calculatorsSearch, { customPropertyIds, calculatorTypeIds }).meta({
    id: 'CalculatorsSearchRequest',
  })
}
