import type { Contract } from '../../exchange/contract.ts'
import type { FrameworkDataPoint } from '../../exchange/reference-data.ts'
import { answerValue, type ValueType, valueTypeOf, valueTypes } from './rules/answer-value.ts'
import {
  checkId,
  checkOptions,
  checkUnit,
  dataPointOf,
  hint,
  key,
  listed,
  named,
  type ReferenceIndex,
} from './rules/reference-index.ts'
import {
  checkPeriod,
  idWords,
  isGiven,
  keyOf,
  monthOf,
  periodWords,
  presentInPeriod,
  type RowContent,
  shown,
  text,
} from './rules/row-content.ts'
import { columnWords, type Stream } from './stream.ts'

/** Specification: Framework answers upsert request. */
export const frameworkAnswers: Stream = {
  about: 'One row per answer to a data point, for one hotel and period.',
  columns: {
    partner_id: columnWords.partner_id,
    framework_id: 'The framework to assign to the company for the period; null assigns none.',
    period_type: columnWords.period_type,
    year: columnWords.year,
    month: '1 to 12; of a yearly period it is the month in which the year starts, and null means January.',
    data_point_id: 'Id of a data point in a framework of the service.',
    value: 'The answer as text, never null.',
    value_type: 'How to read `value`; null lets the framework decide.',
    unit_id: 'Id of a unit, not of a unit type; null if and only if the data point has no units.',
  },
  notes: [
    'The column `value_type` is one of these words:',
    [
      '- `text`',
      '- `number`. A number that a JSON number cannot hold digit by digit is invalid. Nightferry does not round it.',
      '- `boolean`: `true` or `false`',
      '- `date`: `2025-03-31`',
      '- `date_range`: `2025-01-01/2025-03-31`',
      '- `list`: the ids of options, as a JSON array or separated by commas',
    ].join('\n'),
  ],
  table: {
    all: ['partner_id', 'year', 'data_point_id', 'value'],
    telling: ['data_point_id', 'framework_id', 'value_type', 'unit_id'],
  },
  kind: 'framework_answers',
  toRow: (answer, partnerId) => ({
    partnerId,
    rowKey: keyOf(
      partnerId,
      answer.framework_id,
      answer.period_type,
      answer.year,
      monthOf(answer),
      answer.data_point_id,
    ),
    content: presentInPeriod(answer),
  }),
  check: (content, reference, contract) => checkPeriod(content) ?? checkAnswer(contract, reference, content),
  words: (content) => `${periodWords(content)} ${idWords(content, 'data point', 'data_point_id')}`,
}

function checkAnswer(contract: Contract, reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'data_point_id')
  if (malformed !== null) return malformed
  const id = text(content, 'data_point_id') ?? ''
  const dataPoint = dataPointOf(reference, id)
  if (reference.frameworksKnown && dataPoint === undefined) {
    return `data point ${id} is in no framework of the service${hint(reference, id, reference.dataPoints)}`
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
    return `framework ${id} is none of the service's${hint(reference, id, reference.frameworks)}. There are: ${others}`
  }
  const pointId = text(content, 'data_point_id') ?? ''
  if (framework.dataPointIds.has(key(pointId))) return null
  const home = [...reference.frameworks.values()].find(({ dataPointIds }) => dataPointIds.has(key(pointId)))
  return `data point ${named(reference, pointId)} is not in the framework "${shown(framework.title)}" that the row names; it is in "${shown(home?.title ?? '')}" (${home?.id ?? ''})`
}

/**
 * A data point that is reported yearly takes no monthly answer, nor the other way round. Words that are not known say
 * nothing.
 */
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
