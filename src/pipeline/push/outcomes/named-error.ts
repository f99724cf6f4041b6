import type { NamedError } from '../../../db/ledger/error-outcomes.ts'
import type { Contract } from '../../../exchange/contract.ts'
import { monthNumber } from '../../../exchange/month-names.ts'
import type { RowError } from '../../../exchange/task.ts'

/**
 * A task's error row in the terms of the ledger. Pure.
 *
 * An omitted month of a yearly period means January, as it does where it is sent (Framework answers upsert request). A
 * month that cannot be read is no reason to take the error for one about every month: such an error matches nothing.
 */
export function namedError(contract: Contract, error: RowError): NamedError {
  const names = contract.names.frameworkAnswers
  const is = (name: string) => error.periodType?.toLowerCase() === name.toLowerCase()
  const yearly = is(names.yearly)
  const month = monthOf(error.month)
  return {
    company_id: error.companyId,
    partner_id: error.identifiedByValue,
    data_point_id: error.dataPointId,
    question_id: error.questionId,
    property_id: error.propertyId,
    standard_id: error.standardId,
    field_type_id: error.fieldTypeId,
    period_type: yearly ? 'Yearly' : is(names.monthly) ? 'Monthly' : error.periodType,
    year: error.year,
    month: month ?? (error.month === null && yearly && error.year !== null ? 1 : null),
    code: error.reason,
    reason: error.message ?? error.reason,
    why: error.month !== null && month === null ? `its month '${error.month}' is none` : null,
  }
}

/** A month by its name, or by its number as a text. */
function monthOf(text: string | null): number | null {
  if (text === null) return null
  const number = /^0?\d$|^1[0-2]$/.test(text) ? Number(text) : monthNumber(text)
  return number === undefined || number === 0 ? null : number
}
