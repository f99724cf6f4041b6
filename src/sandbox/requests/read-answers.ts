import type { Contract } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import {
  asObject,
  type JsonObject,
  objects,
  optionalNumber,
  optionalObject,
  optionalObjects,
  optionalText,
  optionalUuid,
  text,
} from './read-json.ts'

/** At most this many answers and omissions combined (specification, Limits). */
export const maxAnswersAndOmissions = 50_000

/** How an entry names its company. */
export type CompanyReference = { companyId: string } | { propertyId: string; value: string }

export type AnswerEntry = { dataPointId: string; answer: JsonObject; unitId: string | null }
export type PeriodEntry = {
  periodType: string
  year: number | null
  month: string | null
  answers: AnswerEntry[]
  omissions: { questionId: string }[]
}
export type AnswersRequest = {
  frameworkId: string | null
  companies: { reference: CompanyReference; periods: PeriodEntry[] }[]
}

/**
 * Shapes only: what a value means is judged row by row when the task is processed.
 * @throws {RequestRefused} 400 when the body has another shape, or more rows than the limit.
 */
export function readAnswers(contract: Contract, body: unknown): AnswersRequest {
  const names = contract.names.frameworkAnswers
  const request = asObject(body, 'body')
  const companies = objects(request, names.companies, 'body').map((company, index) => {
    const at = `body.${names.companies}[${index}]`
    return {
      reference: readReference(contract, company, at),
      periods: optionalObjects(company, names.periods, at).map((period, nth) =>
        readPeriod(contract, period, `${at}.${names.periods}[${nth}]`),
      ),
    }
  })
  const read = { frameworkId: optionalUuid(request, names.frameworkId, 'body'), companies }
  const rows = countAnswers(read)
  if (rows > maxAnswersAndOmissions) {
    const message = `The request holds ${rows} answers and omissions; at most ${maxAnswersAndOmissions} are accepted.`
    throw new RequestRefused(400, 'too_many_answers', message)
  }
  return read
}

/** Answers and omissions together. */
export function countAnswers(request: AnswersRequest): number {
  let rows = 0
  for (const company of request.companies) {
    for (const period of company.periods) rows += period.answers.length + period.omissions.length
  }
  return rows
}

function readReference(contract: Contract, company: JsonObject, at: string): CompanyReference {
  const names = contract.names.frameworkAnswers
  const identifiedBy = asObject(company[names.identifiedBy], `${at}.${names.identifiedBy}`)
  const companyId = optionalText(identifiedBy, names.companyId, at)
  const property = optionalObject(identifiedBy, names.customProperty, at)
  if ((companyId === null) === (property === null)) {
    const message = `${at}.${names.identifiedBy} must hold either ${names.companyId} or ${names.customProperty}.`
    throw new RequestRefused(400, 'body_invalid', message)
  }
  if (property) {
    const propertyId = text(property, names.customPropertyId, at).toLowerCase()
    return { propertyId, value: text(property, names.value, at) }
  }
  return { companyId: (companyId ?? '').toLowerCase() }
}

function readPeriod(contract: Contract, period: JsonObject, at: string): PeriodEntry {
  const names = contract.names.frameworkAnswers
  return {
    periodType: text(period, names.periodType, at),
    year: optionalNumber(period, names.year, at),
    month: optionalText(period, names.month, at),
    answers: optionalObjects(period, names.answers, at).map((entry, index) => {
      const here = `${at}.${names.answers}[${index}]`
      return {
        dataPointId: text(entry, names.dataPointId, here).toLowerCase(),
        answer: asObject(entry[names.answer], `${here}.${names.answer}`),
        unitId: optionalText(entry, names.unitId, here)?.toLowerCase() ?? null,
      }
    }),
    omissions: optionalObjects(period, names.omissions, at).map((entry, index) => ({
      questionId: text(entry, names.questionId, `${at}.${names.omissions}[${index}]`).toLowerCase(),
    })),
  }
}
