import type { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { idAsSent, list, optionalText, requiredId, text, wire } from './wire-spelling.ts'

export type StandardHolder = {
  identifier: string
  standardId: string
  level: string | null
  startDate: string | null
  expiryDate: string | null
}
export type StandardHoldersRequest = { customIdentifierId: string; holders: StandardHolder[] }

/** One standard, a certification or a commitment, that one company holds. */
export function standardHolder(contract: Contract): z.ZodType<StandardHolder> {
  const date = optionalText.meta({ format: 'date' })
  return wire(contract.names.standardHolders, {
    identifier: text,
    standardId: idAsSent,
    level: optionalText,
    startDate: date,
    expiryDate: date,
  }).meta({ id: 'StandardHolderToStore' })
}

/** Standards held by companies that are named by an identifier. */
export function standardHoldersRequest(contract: Contract): z.ZodType<StandardHoldersRequest> {
  return wire(contract.names.standardHolders, {
    customIdentifierId: requiredId.meta({ description: 'The custom identifier whose values name the companies.' }),
    holders: list(standardHolder(contract)),
  }).meta({ id: 'StandardHoldersUpsertRequest' })
}
