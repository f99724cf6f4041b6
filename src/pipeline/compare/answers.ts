import type { Contract } from '../../exchange/contract.ts'
import { idOf, instantOf, integerOf, monthNumber, objectOf } from '../../exchange/wire-value.ts'
import { answerType } from '../streams/framework-answers.ts'
import { answerValue, isNumber } from '../streams/rules/answer-value.ts'
import { type AnswerTypes, dataPointOf } from '../streams/rules/reference-index.ts'
import { text } from '../streams/rules/row-content.ts'
import type { Expected, SentRow, Stored, StoredThings, Value } from './compare-company.ts'

/** What a question that was declined holds. */
const declined = { value: 'declined', unit: null }

/**
 * The answers and omissions of one company on a page of the framework answers search; null where the page is not laid
 * out as the contract assumes (Spec gap: docs/spec-gaps.md, the other pages). A member that is null is not there. Pure.
 */
export function readAnswers(contract: Contract, documents: readonly unknown[]): StoredThings | null {
  const names = contract.names.frameworkAnswersPage
  const things = new Map<string, Stored>()
  for (const document of documents) {
    const periods = objectOf(document)?.[names.periods]
    if (!Array.isArray(periods)) return null
    for (const item of periods as unknown[]) {
      const period = objectOf(item)
      const name = period === null ? null : periodOf(contract, period)
      if (period === null || name === null) return null
      const answers = listIn(period, names.answers)
      const omissions = listIn(period, names.omissions)
      if (answers === null || omissions === null) return null
      for (const answer of answers) {
        const read = readAnswer(contract, answer)
        if (read === null) return null
        add(things, `answer ${read.dataPoint} ${name}`, read.value, changedAt(contract, answer))
      }
      for (const omission of omissions) {
        const question = idOf(objectOf(omission)?.[names.questionId])
        if (question === null) return null
        add(things, `omission ${question.toLowerCase()} ${name}`, declined, changedAt(contract, omission))
      }
    }
  }
  return things
}

/** What an answer or an omission should have left there. Pure. */
export function expectedAnswer(contract: Contract, reference: AnswerTypes, row: SentRow): Expected | null {
  const { content } = row
  const year = integerOf(text(content, 'year'))
  const month = integerOf(text(content, 'month') ?? '1')
  const type = text(content, 'period_type')
  if (year === null || month === null || type === null) return null
  const period = `${type} ${year} ${month}`
  if (row.stream === 'omissions') {
    const question = text(content, 'question_id')
    if (question === null) return null
    return { thing: `omission ${question.toLowerCase()} ${period}`, value: declined, shown: 'declined' }
  }
  const dataPoint = text(content, 'data_point_id')
  if (dataPoint === null) return null
  const meant = answerType(content, dataPointOf(reference, dataPoint)?.valueType ?? null)
  const answer = typeof meant === 'string' ? answerValue(contract, meant, text(content, 'value') ?? '') : meant
  if ('problem' in answer) return null
  const plain = canonical(contract, answer.value)
  if (plain === null) return null
  const value = { value: plain, unit: text(content, 'unit_id')?.toLowerCase() ?? null }
  return { thing: `answer ${dataPoint.toLowerCase()} ${period}`, value, shown: text(content, 'value') ?? '' }
}

/**
 * Whether an answer that is stored otherwise may still be what was sent: the same value with a unit that only one of
 * the two names, or another value in another unit, into which the service may have converted it. Pure.
 */
export function mayBeSameAnswer(sent: Value, stored: Value): boolean {
  if (sent.unit === null || stored.unit === null) return sent.value === stored.value
  return sent.unit !== stored.unit
}

function periodOf({ names: all }: Contract, period: Record<string, unknown>): string | null {
  const names = all.frameworkAnswersPage
  const { yearly, monthly } = all.frameworkAnswers
  const wireType = period[names.periodType]
  const type = wireType === yearly ? 'Yearly' : wireType === monthly ? 'Monthly' : null
  const year = integerOf(period[names.year])
  const wireMonth = period[names.month] ?? null
  const month = wireMonth === null ? 1 : typeof wireMonth === 'string' ? monthNumber(wireMonth) : undefined
  return type === null || year === null || month === undefined ? null : `${type} ${year} ${month}`
}

function readAnswer(contract: Contract, answer: unknown): { dataPoint: string; value: Value } | null {
  const names = contract.names.frameworkAnswersPage
  const fields = objectOf(answer)
  const dataPoint = idOf(fields?.[names.dataPointId])
  const value = objectOf(fields?.[names.answer])
  if (fields === null || dataPoint === null || value === null) return null
  const plain = canonical(contract, value)
  if (plain === null) return null
  const unit = idOf(fields[names.unitId])?.toLowerCase() ?? null
  return { dataPoint: dataPoint.toLowerCase(), value: { value: plain, unit } }
}

/**
 * One text for values that mean the same: numbers by their value, lists in any order; null for a member nobody knows.
 * A member that is null is not there: only one of them has the answer.
 */
function canonical({ names: all }: Contract, answer: Record<string, unknown>): string | null {
  const names = all.frameworkAnswers
  const of = (member: string): unknown => answer[member] ?? null
  if (of(names.number) !== null) {
    const number = numberOf(of(names.number))
    return number === null ? null : `number ${number}`
  }
  if (typeof of(names.text) === 'string') return `text ${String(of(names.text))}`
  if (typeof of(names.boolean) === 'boolean') return `boolean ${String(of(names.boolean))}`
  if (typeof of(names.dateIso) === 'string') return `date ${String(of(names.dateIso)).slice(0, 10)}`
  if (typeof of(names.dateRangeFrom) === 'string') {
    return `range ${String(of(names.dateRangeFrom)).slice(0, 10)} ${String(of(names.dateRangeTo)).slice(0, 10)}`
  }
  const list = of(names.list)
  if (Array.isArray(list) && list.every((option) => typeof option === 'string')) {
    return `list ${list
      .map((option) => option.toLowerCase())
      .toSorted()
      .join(' ')}`
  }
  return null
}

/** A number, also one that is sent as text; anything else null. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && isNumber(value) ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

function changedAt({ names }: Contract, element: unknown): Date | null {
  return instantOf(objectOf(element)?.[names.frameworkAnswersPage.changedAt])
}

function listIn(object: Record<string, unknown>, name: string): unknown[] | null {
  const value = object[name] ?? []
  return Array.isArray(value) ? value : null
}

function add(things: Map<string, Stored>, thing: string, value: Value, changed: Date | null): void {
  const before = things.get(thing)
  things.set(thing, { values: [...(before?.values ?? []), value], changedAt: changed ?? before?.changedAt ?? null })
}
