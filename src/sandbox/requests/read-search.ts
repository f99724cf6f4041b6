import type { Contract } from '../../exchange/contract.ts'
import { asObject, optionalStrings } from './read-json.ts'

export type SearchRequest = {
  /** In the order asked for, without repetitions; null: none were asked for. */
  customPropertyIds: string[] | null
  /** Empty: every type. */
  calculatorTypeIds: string[]
}

/** @throws {RequestRefused} 400 when the body has another shape. */
export function readSearch(contract: Contract, body: unknown): SearchRequest {
  const names = contract.names.calculatorsSearch
  const request = asObject(body, 'body')
  const ids = (name: string) => [...new Set(optionalStrings(request, name, 'body').map((id) => id.toLowerCase()))]
  const customPropertyIds = ids(names.customPropertyIds)
  return {
    customPropertyIds: customPropertyIds.length === 0 ? null : customPropertyIds,
    calculatorTypeIds: ids(names.calculatorTypeIds),
  }
}
