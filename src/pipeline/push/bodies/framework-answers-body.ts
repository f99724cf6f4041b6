import { monthName } from '../../../exchange/month-names.ts'
import { answerType } from '../../streams/framework-answers.ts'
import { answerValue } from '../../streams/rules/answer-value.ts'
import { dataPointOf } from '../../streams/rules/reference-index.ts'
import { text } from '../../streams/rules/row-content.ts'
import {
  type BodyContext,
  type BodyWriter,
  byPartner,
  type OutgoingRow,
  objectWithList,
  withoutAbsent,
} from './body.ts'

/**
 * Body of POST framework-answers/upsert: answers and omissions by company and period (Framework answers upsert
 * request).
 */
export const writeFrameworkAnswers: BodyWriter = function* (rows, context) {
  const { frameworkAnswers: names } = context.contract.names
  const head = context.partition === '' ? {} : { [names.frameworkId]: context.partition }
  yield* objectWithList(head, names.companies, companies(rows, context))
}

function* companies(rows: Iterable<OutgoingRow>, context: BodyContext): Generator<object> {
  const { frameworkAnswers: names } = context.contract.names
  for (const [partnerId, group] of byPartner(rows)) {
    yield {
      [names.identifiedBy]: {
        [names.customProperty]: { [names.customPropertyId]: context.customIdentifierId, [names.value]: partnerId },
      },
      [names.periods]: periods(group, context),
    }
  }
}

function periods(rows: OutgoingRow[], context: BodyContext): object[] {
  const { frameworkAnswers: names } = context.contract.names
  const byPeriod = Map.groupBy(rows, ({ content }) =>
    [text(content, 'period_type'), text(content, 'year'), text(content, 'month')].join(' '),
  )
  return [...byPeriod.values()].map((group) => {
    const content = group[0]?.content ?? {}
    const answers = group.filter(({ stream }) => stream === 'framework_answers')
    const omissions = group.filter(({ stream }) => stream === 'omissions')
    return {
      [names.periodType]: text(content, 'period_type') === 'Yearly' ? names.yearly : names.monthly,
      [names.year]: Number(text(content, 'year')),
      // An omitted start month means January (Framework answers upsert request).
      [names.month]: monthName(Number(text(content, 'month') ?? '1')),
      ...(answers.length > 0 && { [names.answers]: answers.map((row) => answerOf(row, context)) }),
      ...(omissions.length > 0 && {
        [names.omissions]: omissions.map((row) => ({ [names.questionId]: text(row.content, 'question_id') })),
      }),
    }
  })
}

function answerOf({ content }: OutgoingRow, { contract, reference }: BodyContext): object {
  const names = contract.names.frameworkAnswers
  const dataPointId = text(content, 'data_point_id') ?? ''
  const type = answerType(content, dataPointOf(reference, dataPointId)?.valueType ?? null)
  const answer = typeof type === 'string' ? answerValue(contract, type, text(content, 'value') ?? '') : type
  if ('problem' in answer) throw new Error(`a row that preflight passed cannot be written: ${answer.problem}`)
  return withoutAbsent({
    [names.dataPointId]: dataPointId,
    [names.answer]: answer.value,
    [names.unitId]: text(content, 'unit_id'),
  })
}
