import { isOurStream } from '../../config/schema.ts'
import type { Contract } from '../../exchange/contract.ts'
import { isId, maxPartnerIdLength } from '../delta/stream-rows.ts'
import { answerValue, type ValueType, valueTypeOf, valueTypes } from './answer-value.ts'
import { checkTemplateRow } from './generic/check-template-row.ts'
import type { ReferenceIndex } from './reference-index.ts'

/** A ledger row's content: every value as the partner's server printed it; absent means null. */
export type RowContent = Readonly<Record<string, unknown>>

const decimal = /^[+-]?\d+(\.\d+)?$/

/**
 * What is wrong with a row before anyone is asked, or null. A row with a reason is never sent.
 * Pure: the reference data is what the service said at the beginning of the run.
 */
export function checkRow(
  contract: Contract,
  reference: ReferenceIndex,
  stream: string,
  partnerId: string,
  content: RowContent,
): string | null {
  if (partnerId.trim() === '') return 'partner_id is empty'
  if (partnerId.length > maxPartnerIdLength) return `partner_id is longer than ${maxPartnerIdLength} characters`
  if (!isOurStream(stream)) return checkTemplateRow(contract, stream, partnerId, content)
  switch (stream) {
    case 'properties':
      return checkProperty(content)
    case 'framework_answers':
      return checkPeriod(content) ?? checkAnswer(contract, reference, content)
    case 'omissions':
      return checkPeriod(content) ?? checkOmission(reference, content)
    case 'calculator_inputs':
      return checkInputs(content)
    case 'calculator_settings':
      return checkSettings(content)
    case 'custom_property_values':
      return checkId(content, 'property_id') ?? (text(content, 'value') === null ? 'value is empty' : null)
    case 'standard_holders':
      return checkId(content, 'standard_id')
    default:
      return stream satisfies never
  }
}

function checkProperty(content: RowContent): string | null {
  const [latitude, longitude] = [text(content, 'latitude'), text(content, 'longitude')]
  if ((latitude === null) !== (longitude === null)) return 'latitude and longitude must come together'
  if (latitude !== null && !within(latitude, 90)) return `latitude ${latitude} is not between -90 and 90`
  if (longitude !== null && !within(longitude, 180)) return `longitude ${longitude} is not between -180 and 180`
  if (Object.keys(content).length === 0) return 'nothing is known but the partner id: there is nothing to match by'
  return null
}

function checkPeriod(content: RowContent): string | null {
  const periodType = text(content, 'period_type')
  if (periodType !== 'Yearly' && periodType !== 'Monthly') {
    return `period_type '${periodType ?? ''}' is neither Yearly nor Monthly`
  }
  return checkYearAndMonth(content)
}

function checkYearAndMonth(content: RowContent): string | null {
  const year = text(content, 'year')
  const month = text(content, 'month')
  if (year === null || !/^\d{4}$/.test(year)) return `year '${year ?? ''}' is no year`
  if (text(content, 'period_type') === 'Monthly' && month === null) return 'a Monthly period needs a month'
  if (month !== null && !/^([1-9]|1[0-2])$/.test(month)) return `month '${month}' is not between 1 and 12`
  return null
}

function checkAnswer(contract: Contract, reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'data_point_id')
  if (malformed !== null) return malformed
  const dataPointId = text(content, 'data_point_id') ?? ''
  const dataPoint = reference.dataPoints.get(dataPointId)
  if (reference.frameworksKnown && dataPoint === undefined) {
    return `data point ${dataPointId} is in no framework of the service`
  }
  const type = answerType(content, dataPoint?.valueType ?? null)
  if (typeof type !== 'string') return type.problem
  const value = text(content, 'value')
  if (value === null) return 'value is empty'
  const unitId = text(content, 'unit_id')
  if (unitId !== null && dataPoint !== undefined && !dataPoint.unitIds.includes(unitId)) {
    return `unit ${unitId} does not belong to data point ${dataPointId}`
  }
  const answer = answerValue(contract, type, value)
  return 'problem' in answer ? answer.problem : null
}

/** The value type of an answer: what the row says, else what the framework says. */
export function answerType(content: RowContent, frameworkType: string | null): ValueType | { problem: string } {
  const named = text(content, 'value_type')
  if (named === null) {
    return (
      valueTypeOf(frameworkType) ?? {
        problem: `value_type is null and the framework's '${frameworkType ?? ''}' is not known`,
      }
    )
  }
  return (
    valueTypes.find((type) => type === named) ?? {
      problem: `value_type '${named}' is none of ${valueTypes.join(', ')}`,
    }
  )
}

function checkOmission(reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'question_id')
  if (malformed !== null) return malformed
  const questionId = text(content, 'question_id') ?? ''
  if (reference.frameworksKnown && !reference.questionIds.has(questionId)) {
    return `question ${questionId} is in no framework of the service`
  }
  return null
}

function checkInputs(content: RowContent): string | null {
  const period = checkYearAndMonth(content)
  if (period !== null) return period
  const inputs = content.inputs as Record<string, string | null>
  const fieldTypeIds = Object.keys(inputs)
  if (fieldTypeIds.length === 0) return 'every input is empty: there is nothing to send'
  const malformed = fieldTypeIds.find((id) => !isId(id))
  return malformed === undefined ? null : `field_type_id '${malformed}' is no id`
}

function checkSettings(content: RowContent): string | null {
  for (const name of ['automatic_yearly_calculation', 'automatic_publishing']) {
    const value = text(content, name)
    if (value !== null && value !== 'true' && value !== 'false') return `${name} '${value}' is neither true nor false`
  }
  return Object.keys(content).length === 0 ? 'neither switch is set: there is nothing to send' : null
}

function checkId(content: RowContent, name: string): string | null {
  const id = text(content, name)
  return isId(id) ? null : `${name} '${id ?? ''}' is no id`
}

function within(value: string, bound: number): boolean {
  return decimal.test(value) && Math.abs(Number(value)) <= bound
}

/** A column's text, or null. */
export function text(content: RowContent, name: string): string | null {
  const value = content[name]
  return typeof value === 'string' ? value : null
}
