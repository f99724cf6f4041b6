import type { FieldError } from '../../../db/tables/submission-tables.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { maxPartnerIdLength } from '../../streams/rules/row-content.ts'

/** What a result file says of one company. */
export type CompanyOutcome = {
  /** Null: the element names no property of ours by its id. */
  partnerId: string | null
  /** Null: the file names the company with a status that we do not know. */
  accepted: boolean | null
  companyId: string | null
  code: string | null
  reason: string | null
  /** Errors of single fields, where the file lists them. */
  fieldErrors: FieldError[]
}

/** How a kind's result file is read. */
export type ResultFile = {
  /** The top-level list whose elements are read. */
  list: (contract: Contract) => string
  read: (contract: Contract, element: unknown) => CompanyOutcome
}

type Fields = Readonly<Record<string, unknown>>

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Characters of an element that names nobody: what is kept of it for a person to look at. */
const keptOfElement = 500

/**
 * Reads one element of a company-mappings result file; what names nobody is kept as it came. Spec gap:
 * docs/spec-gaps.md.
 */
export function mappingOutcome(contract: Contract, element: unknown): CompanyOutcome {
  const names = contract.names.companyMappingsResult
  const fields = fieldsOf(element)
  const partnerId = partnerIdOf(fields[names.id])
  const status = textOf(fields[names.status])
  const named = companyIdOf(fields[names.companyId])
  if (partnerId === null && named === null) return nobody(element)
  const reason = textOf(fields[names.reason])
  const common = { partnerId, companyId: named, code: status, reason, fieldErrors: [] }
  if (status !== names.mapped) {
    // A company that is named beside another status is no match.
    const companyId = partnerId === null ? named : null
    return { ...common, companyId, accepted: status === names.notFound ? false : null }
  }
  if (named === null) return { ...common, accepted: null, reason: 'mapped, but to no company id' }
  return { ...common, accepted: true, code: null }
}

/**
 * Reads one element of a calculator-upsert result file; what names nobody is kept as it came. Spec gap:
 * docs/spec-gaps.md.
 */
export function calculatorOutcome(contract: Contract, element: unknown): CompanyOutcome {
  const names = contract.names.calculatorsResult
  const fields = fieldsOf(element)
  const partnerId = partnerIdOf(fields[names.identifier])
  const companyId = companyIdOf(fields[names.companyId])
  if (partnerId === null && companyId === null) return nobody(element)
  const status = textOf(fields[names.status])
  const fieldErrors = errorsIn(fields[names.errors]).map((error) => ({
    field: textOf(fieldsOf(error)[names.fieldTypeId]),
    reason: textOf(fieldsOf(error)[names.reason]) ?? textOf(error) ?? 'no reason given',
  }))
  const failed = status === names.failed || fieldErrors.length > 0
  return {
    partnerId,
    accepted: failed ? false : status === names.success ? true : null,
    companyId,
    code: status === names.success && !failed ? null : status,
    reason:
      fieldErrors.length === 0
        ? null
        : fieldErrors.map(({ field, reason }) => (field === null ? reason : `${field}: ${reason}`)).join('; '),
    fieldErrors,
  }
}

/** What stands for the errors of an element, one by one: what is no list and says something is one error. */
function errorsIn(errors: unknown): readonly unknown[] {
  if (Array.isArray(errors)) return errors
  const saysNothing = typeof errors === 'object' ? Object.keys(errors ?? {}).length === 0 : !errors
  return saysNothing ? [] : [errors]
}

/** What is kept of an element that names nobody. */
export function nobody(element: unknown): CompanyOutcome {
  const reason = (JSON.stringify(element) ?? '').slice(0, keptOfElement)
  return { partnerId: null, accepted: null, companyId: null, code: null, reason, fieldErrors: [] }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

/**
 * The id of a row of ours: longer ones were never sent, and would not fit into the index of the staging table. A kind
 * of the contract may send ids as numbers, and they come back as such.
 */
export function partnerIdOf(value: unknown): string | null {
  const id = Number.isSafeInteger(value) ? String(value) : textOf(value)
  return id === null || id.length > maxPartnerIdLength ? null : id
}

/** In small letters, as our own mapping has it. What is no UUID names no company. */
export function companyIdOf(value: unknown): string | null {
  const id = textOf(value)
  return id !== null && uuid.test(id) ? id.toLowerCase() : null
}

/** A text that says something, or null. */
export function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
