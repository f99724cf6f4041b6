import { checkId, dataPointOf, hint, key, named, type ReferenceIndex } from './rules/reference-index.ts'
import {
  checkPeriod,
  keyOf,
  monthOf,
  periodWords,
  presentInPeriod,
  type RowContent,
  text,
} from './rules/row-content.ts'
import { columnWords, type Stream } from './stream.ts'

/** Specification: Framework answers upsert request. It is keyed by question, not by data point. */
export const omissions: Stream = {
  about: 'One row per question that a hotel deliberately does not answer.',
  columns: {
    ...columnWords,
    month: '1 to 12; null as in `framework_answers`.',
    question_id: 'Id of a question in a framework of the service.',
  },
  // Where there is a reply, the question was answered: to say that it was left out would be wrong.
  table: { all: ['partner_id', 'year', 'question_id'], telling: ['question_id'], never: ['value'] },
  kind: 'framework_answers',
  toRow: (omission, partnerId) => ({
    partnerId,
    rowKey: keyOf(partnerId, omission.period_type, omission.year, monthOf(omission), omission.question_id),
    content: presentInPeriod(omission),
  }),
  check: (content, reference) => checkPeriod(content) ?? checkQuestion(reference, content),
  words: (content) => `${periodWords(content)} question ${text(content, 'question_id') ?? '–'} declined`,
}

function checkQuestion(reference: ReferenceIndex, content: RowContent): string | null {
  const malformed = checkId(content, 'question_id')
  if (malformed !== null) return malformed
  const id = text(content, 'question_id') ?? ''
  if (!reference.frameworksKnown || reference.questionIds.has(key(id))) return null
  const questionId = dataPointOf(reference, id)?.questionId
  const question = questionId == null ? '' : ` of the question ${named(reference, questionId)}`
  return `question ${id} is in no framework of the service${hint(reference, id, reference.questionIds)}${question}`
}
