import type { Contract } from './contract.ts'
import { monthName } from './month-names.ts'
import { idOf, integerOf, objectOf, textOf } from './wire-value.ts'

/** A failed row of an import, as far as the service identifies it. Specification: Task (bulk request), Errors. */
export type RowError = {
  companyId: string | null
  /** The partner's own id, when the row named its company by one. */
  identifiedByValue: string | null
  dataPointId: string | null
  questionId: string | null
  /** Of a custom property value. */
  propertyId: string | null
  /** Of a standard that is held. */
  standardId: string | null
  /** Of a calculator's input. */
  fieldTypeId: string | null
  periodType: string | null
  year: number | null
  /** A month name. */
  month: string | null
  /** A code or sentence, verbatim. */
  reason: string | null
  message: string | null
}

/** Reads a row error. Never drops one: what cannot be read is null, and what is no object becomes the message. */
export function decodeRowError(contract: Contract, value: unknown): RowError {
  const { rowError: names, companies, standardHolders, calculators } = contract.names
  const fields = objectOf(value)
  const read = (field: keyof typeof names) => fields?.[names[field]]
  return {
    companyId: idOf(read('companyId')),
    identifiedByValue: textOf(read('identifiedByValue')),
    dataPointId: idOf(read('dataPointId')),
    questionId: idOf(read('questionId')),
    // Spec gap: how an error row names these is not shown (docs/spec-gaps.md); what requests call them is read.
    propertyId: idOf(fields?.[companies.propertyId]),
    standardId: idOf(fields?.[standardHolders.standardId]),
    fieldTypeId: idOf(fields?.[calculators.fieldTypeId]),
    periodType: textOf(read('periodType')),
    year: integerOf(read('year')),
    month: monthOf(read('month')),
    reason: textOf(read('reason')),
    message: fields === null ? (textOf(value) ?? JSON.stringify(value)) : textOf(read('message')),
  }
}

function monthOf(value: unknown): string | null {
  if (typeof value !== 'number') return textOf(value)
  return Number.isInteger(value) && value >= 1 && value <= 12 ? monthName(value) : String(value)
}
