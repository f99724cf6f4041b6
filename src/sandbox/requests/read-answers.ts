import { z } from 'zod'
import type { Contract } from '../../exchange/contract.ts'
import { RequestRefused } from '../request-refused.ts'
import type { JsonObject } from './read-json.ts'
import {
  idAsSent,
  idText,
  list,
  objectAsSent,
  optionalIdText,
  optionalList,
  optionalNumber,
  optionalText,
  optionalUuid,
  text,
  wire,
} from './wire-spelling.ts'

/** At most this many answers and omissions combined (specification, Limits). */
const maxAnswersAndOmissions = 50_000

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

/** Framework answers upsert request (specification, Resources). What a value means is judged row by row, later. */
export function answersRequest(contract: Contract): z.ZodType<AnswersRequest> {
  const names = contract.names.frameworkAnswers
  const company = wire(names, {
    identifiedBy: companyReference(contract),
    periods: optionalList(periodEntry(contract)),
  })
    .transform(({ identifiedBy, periods }) => ({ reference: identifiedBy, periods }))
    .meta({ id: 'CompanyAnswers' })
  return wire(names, {
    frameworkId: optionalUuid.meta({
      description: 'When present, the framework is assigned to each company for the reported periods.',
    }),
    companies: list(company),
  }).meta({ id: 'FrameworkAnswersUpsertRequest' })
}

/** @throws {RequestRefused} 400 when the request holds more rows than the limit. */
export function checkAnswerCount(request: AnswersRequest): void {
  const rows = countAnswers(request)
  if (rows <= maxAnswersAndOmissions) return
  const message = `The request holds ${rows} answers and omissions; at most ${maxAnswersAndOmissions} are accepted.`
  throw new RequestRefused(400, 'too_many_answers', message)
}

/** Answers and omissions together. */
export function countAnswers(request: AnswersRequest): number {
  let rows = 0
  for (const company of request.companies) {
    for (const period of company.periods) rows += period.answers.length + period.omissions.length
  }
  return rows
}

function companyReference(contract: Contract): z.ZodType<CompanyReference> {
  const names = contract.names.frameworkAnswers
  const customProperty = wire(names, { customPropertyId: idText.meta({ format: 'uuid' }), value: text }).meta({
    id: 'CustomPropertyReference',
    description: "A value of one of the partner's own String custom properties.",
  })
  return wire(names, { companyId: optionalText, customProperty: customProperty.nullish() })
    .transform(({ companyId, customProperty: property }, context): CompanyReference => {
      if (companyId !== null && property === null) return { companyId }
      if (companyId === null && property !== null)
        return { propertyId: property.customPropertyId, value: property.value }
      context.addIssue(`must hold either ${names.companyId} or ${names.customProperty}`)
      return z.NEVER
    })
    .meta({ id: 'CompanyReference', description: `Either ${names.companyId} or ${names.customProperty}, not both.` })
}

function periodEntry(contract: Contract): z.ZodType<PeriodEntry> {
  const names = contract.names.frameworkAnswers
  const answer = wire(names, {
    dataPointId: idAsSent,
    answer: answerValue(contract),
    unitId: optionalIdText.meta({ description: 'The id of a unit, not of a unit type.' }),
  }).meta({ id: 'AnswerToStore' })
  const omission = wire(names, { questionId: idAsSent }).meta({
    id: 'OmissionToStore',
    description: 'The company deliberately declines to answer the question.',
  })
  return wire(names, {
    periodType: text.meta({ examples: [names.yearly, names.monthly] }),
    year: optionalNumber,
    month: optionalText.meta({
      description: "A month's name. Of a yearly period: its first month, January when absent.",
      examples: ['January'],
    }),
    answers: optionalList(answer),
    omissions: optionalList(omission),
  }).meta({ id: 'PeriodToStore' })
}

/** An answer as it is sent, under the wire's own names: it is judged, and stored, as it is. */
function answerValue(contract: Contract): z.ZodType<JsonObject> {
  const names = contract.names.frameworkAnswers
  const date = z.iso.date().optional()
  const published = z.looseObject({
    [names.text]: z.string().optional(),
    [names.number]: z.number().optional(),
    [names.boolean]: z.boolean().optional(),
    [names.dateIso]: date,
    [names.dateRangeFrom]: date,
    [names.dateRangeTo]: date,
    [names.list]: z.array(z.string()).optional().meta({ description: 'Ids of options.' }),
  })
  return objectAsSent(published).meta({
    id: 'AnswerValueToStore',
    description: `Exactly one of the members, or ${names.dateRangeFrom} with ${names.dateRangeTo}. A wrong value fails its row, not the request.`,
  })
}
