import type { Contract } from '../../exchange/contract.ts'
import type { Failure } from './work.ts'

/** Which row of an import is meant: what names it as it was sent, and the company. */
export type Row = {
  /** The id by which the row names its company, or that of the company that was found; null: there is neither. */
  companyId: string | null
  /** The value by which the partner named the company; null: by the company's id. */
  identifier: string | null
  dataPointId?: string
  questionId?: string
  propertyId?: string
  standardId?: string
  /** The period's members are absent where rows have none. */
  periodType?: string
  year?: number | null
  month?: string | null
}

/** A failed row as the task's error lists it (specification, Errors). */
export function describeRowError(contract: Contract, row: Row, failure: Failure): Record<string, unknown> {
  const { rowError, companies, standardHolders } = contract.names
  return {
    [rowError.companyId]: row.companyId,
    [rowError.identifiedByValue]: row.identifier,
    ...(row.dataPointId !== undefined && { [rowError.dataPointId]: row.dataPointId }),
    ...(row.questionId !== undefined && { [rowError.questionId]: row.questionId }),
    ...(row.propertyId !== undefined && { [companies.propertyId]: row.propertyId }),
    ...(row.standardId !== undefined && { [standardHolders.standardId]: row.standardId }),
    ...(row.periodType !== undefined && {
      [rowError.periodType]: row.periodType,
      [rowError.year]: row.year ?? null,
      ...(row.month != null && { [rowError.month]: row.month }),
    }),
    [rowError.reason]: failure.reason,
    [rowError.message]: failure.message,
  }
}

/** A row of the report as JSON text, in the sandbox's own names; what it does not have is absent. */
export function describeReportRow(row: Row, failure: Failure | null): string {
  return JSON.stringify({
    outcome: failure ? 'failed' : 'accepted',
    identifier: row.identifier ?? undefined,
    companyId: row.companyId ?? undefined,
    dataPointId: row.dataPointId,
    questionId: row.questionId,
    propertyId: row.propertyId,
    standardId: row.standardId,
    periodType: row.periodType,
    year: row.year ?? undefined,
    month: row.month ?? undefined,
    reason: failure?.reason,
    message: failure?.message,
  })
}
