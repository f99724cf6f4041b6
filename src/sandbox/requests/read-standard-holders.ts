import type { Contract } from '../../exchange/contract.ts'
import { asObject, objects, optionalText, requiredUuid, text } from './read-json.ts'

export type StandardHolder = {
  identifier: string
  standardId: string
  level: string | null
  startDate: string | null
  expiryDate: string | null
}
export type StandardHoldersRequest = { customIdentifierId: string; holders: StandardHolder[] }

/** @throws {RequestRefused} 400 when the body has another shape, or names no custom identifier. */
export function readStandardHolders(contract: Contract, body: unknown): StandardHoldersRequest {
  const names = contract.names.standardHolders
  const request = asObject(body, 'body')
  return {
    customIdentifierId: requiredUuid(request, names.customIdentifierId, 'body'),
    holders: objects(request, names.holders, 'body').map((holder, index) => {
      const at = `body.${names.holders}[${index}]`
      return {
        identifier: text(holder, names.identifier, at),
        standardId: text(holder, names.standardId, at).toLowerCase(),
        level: optionalText(holder, names.level, at),
        startDate: optionalText(holder, names.startDate, at),
        expiryDate: optionalText(holder, names.expiryDate, at),
      }
    }),
  }
}
