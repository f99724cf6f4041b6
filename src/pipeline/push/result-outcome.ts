import type { Contract } from '../../exchange/contract.ts'
import { maxPartnerIdLength } from '../delta/stream-rows.ts'

/** What a result file says of one company. */
export type CompanyOutcome = {
  partnerId: string
  /** Null: the file names the company with a status that we do not know. */
  accepted: boolean | null
  companyId: string | null
  code: string | null
  reason: string | null
}

/** How a kind's result file is read. */
export type ResultFile = {
  /** The top-level list whose elements are read. */
  list: (contract: Contract) => string
  /** Null for an element that names no company. */
  read: (contract: Contract, element: unknown) => CompanyOutcome | null
}

type Fields = Readonly<Record<string, unknown>>

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Reads one element of a company-mappings result file; null for what names no company. Spec gap: docs/spec-gaps.md. */
export function mappingOutcome(contract: Contract, element: unknown): CompanyOutcome | null {
  const names = contract.names.companyMappingsResult
  const fields = fieldsOf(element)
  const partnerId = partnerIdOf(fields[names.id])
  if (partnerId === null) return null
  const status = textOf(fields[names.status])
  const companyId = textOf(fields[names.companyId])
  const reason = textOf(fields[names.reason])
  if (status === names.mapped) {
    const usable = companyId !== null && uuid.test(companyId)
    return usable
      ? { partnerId, accepted: true, companyId, code: null, reason }
      : { partnerId, accepted: null, companyId: null, code: status, reason: 'mapped, but to no company id' }
  }
  return { partnerId, accepted: status === names.notFound ? false : null, companyId: null, code: status, reason }
}

/** Reads one element of a calculator-upsert result file; null for what names no company. Spec gap: docs/spec-gaps.md. */
export function calculatorOutcome(contract: Contract, element: unknown): CompanyOutcome | null {
  const names = contract.names.calculatorsResult
  const fields = fieldsOf(element)
  const partnerId = partnerIdOf(fields[names.identifier])
  if (partnerId === null) return null
  const status = textOf(fields[names.status])
  const listed = fields[names.errors]
  const errors = Array.isArray(listed) ? listed.map(fieldsOf) : []
  const reasons = errors.map((error) =>
    [textOf(error[names.fieldTypeId]), textOf(error[names.reason])].filter((part) => part !== null).join(': '),
  )
  const failed = status === names.failed || errors.length > 0
  return {
    partnerId,
    accepted: failed ? false : status === names.success ? true : null,
    companyId: textOf(fields[names.companyId]),
    code: status === names.success && !failed ? null : status,
    reason: reasons.length === 0 ? null : reasons.join('; '),
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/** The id of a row of ours: longer ones were never sent, and would not fit into the index of the staging table. */
export function partnerIdOf(value: unknown): string | null {
  const id = textOf(value)
  return id === null || id.length > maxPartnerIdLength ? null : id
}

/** A text that says something, or null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
