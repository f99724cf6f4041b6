import type { Contract } from '../../exchange/contract.ts'
import type { FrameworkDataPoint } from '../../exchange/reference-data.ts'
import { answerValue, type ValueType, valueTypeOf, valueTypes } from './answer-value.ts'
import { checkOptions } from './check-options.ts'
import { checkUnit } from './check-unit.ts'
import { checkId, hint, listed, named } from './known-id.ts'
import { dataPointOf, key, type ReferenceIndex } from './reference-index.ts'
import { isGiven, type RowContent, shown, text } from './row-content.ts'

/** What is wrong with an answer whose period is right, or null (Framework answers upsert request). */
export function checkAnswer(contract: Contract, reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'data_point_id')
  if (malformed !== null) return malformed
  const id = text(content, 'data_point_id') ?? ''
  const dataPoint = dataPointOf(reference, id)
  if (reference.frameworksKnown && dataPoint === undefined) {
    return `data point ${id} is in no framework of the service${hint(reference, id, reference.dataPoints.keys())}`
  }
  const problem = checkFramework(reference, content) ?? checkPeriodType(contract, reference, content, dataPoint)
  if (problem !== null) return problem
  const type = checkedType(reference, content, dataPoint)
  if (typeof type !== 'string') return type.problem
  const value = text(content, 'value')
  if (value === null || !isGiven(content, 'value')) return 'value is empty: an answer, or an omission, is needed'
  const answer = answerValue(contract, type, value)
  if ('problem' in answer) return answer.problem
  const options = answer.value[contract.names.frameworkAnswers.list]
  return checkOptions(reference, dataPoint, options) ?? checkUnit(reference, dataPoint, text(content, 'unit_id'))
}

/** The framework that a row names: known, and with this data point in it. None need be named. */
function checkFramework(reference: ReferenceIndex, content: RowContent): string | null {
  const id = text(content, 'framework_id')
  if (id === null) return null
  const malformed = checkId(content, 'framework_id')
  if (malformed !== null) return malformed
  if (!reference.frameworksKnown) return null
  const framework = reference.frameworks.get(key(id))
  if (framework === undefined) {
    const frameworks = [...reference.frameworks.values()]
    const others = listed(frameworks.map((one) => `"${shown(one.title)}" (${one.id})`))
    return `framework ${id} is none of the service's${hint(reference, id, reference.frameworks.keys())}. There are: ${others}`
  }
  const pointId = text(content, 'data_point_id') ?? ''
  if (framework.dataPointIds.has(key(pointId))) return null
  const home = [...reference.frameworks.values()].find(({ dataPointIds }) => dataPointIds.has(key(pointId)))
  return `data point ${named(reference, pointId)} is not in the framework "${shown(framework.title)}" that the row names; it is in "${shown(home?.title ?? '')}" (${home?.id ?? ''})`
}

/** A data point that is reported yearly takes no monthly answer, nor the other way round. Words that are not known say nothing. */
function checkPeriodType(
  contract: Contract,
  reference: ReferenceIndex,
  content: RowContent,
  dataPoint: FrameworkDataPoint | undefined,
): string | null {
  const { yearly, monthly } = contract.names.frameworkAnswers
  const reported = dataPoint?.reportingPeriodType?.toLowerCase()
  const wanted = reported === yearly.toLowerCase() ? 'Yearly' : reported === monthly.toLowerCase() ? 'Monthly' : null
  const periodType = text(content, 'period_type')
  if (dataPoint === undefined || wanted === null || wanted === periodType) return null
  return `data point ${named(reference, dataPoint.id)} is reported ${wanted}, not ${periodType ?? ''}`
}

function checkedType(
  reference: ReferenceIndex,
  content: RowContent,
  dataPoint: FrameworkDataPoint | undefined,
): ValueType | { problem: string } {
  const type = answerType(content, dataPoint?.valueType ?? null)
  const wanted = valueTypeOf(dataPoint?.valueType ?? null)
  if (typeof type !== 'string' || dataPoint === undefined || wanted === null || wanted === type) return type
  return {
    problem: `value_type '${type}' does not fit the data point ${named(reference, dataPoint.id)}, which takes ${wanted}; null follows the framework`,
  }
}

/** The value type of an answer: what the row says, else what the framework says. */
export function answerType(content: RowContent, frameworkType: string | null): ValueType | { problem: string } {
  const said = text(content, 'value_type')
  if (said === null) {
    return (
      valueTypeOf(frameworkType) ?? {
        problem: `value_type is null and the framework's '${frameworkType ?? ''}' is not known: name one of ${valueTypes.join(', ')}`,
      }
    )
  }
  return (
    valueTypes.find((type) => type === said) ?? {
      problem: `value_type '${shown(said)}' is none of ${valueTypes.join(', ')}`,
    }
  )
}

/** What is wrong with an omission whose period is right, or null. It is keyed by question, not by data point. */
export function checkOmission(reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'question_id')
  if (malformed !== null) return malformed
  const id = text(content, 'question_id') ?? ''
  if (!reference.frameworksKnown || reference.questionIds.has(key(id))) return null
  const questionId = dataPointOf(reference, id)?.questionId
  const question = questionId == null ? '' : ` of the question ${named(reference, questionId)}`
  return `question ${id} is in no framework of the service${hint(reference, id, reference.questionIds)}${question}`
}
