import type { Contract } from '../../exchange/contract.ts'
import { monthName } from '../../exchange/wire-value.ts'
import { inputsToSend } from '../streams/calculator-inputs.ts'
import { answerType } from '../streams/framework-answers.ts'
import { answerValue } from '../streams/rules/answer-value.ts'
import { type AnswerTypes, dataPointOf } from '../streams/rules/reference-index.ts'
import { givenText, text } from '../streams/rules/row-content.ts'

/** A ledger row on its way out. */
export type OutgoingRow = { stream: string; partner_id: string; content: Readonly<Record<string, unknown>> }

export type BodyContext = {
  contract: Contract
  reference: AnswerTypes
  customIdentifierId: string
  groupId: string | null
  /** What this kind keeps its requests apart by; see the kind. */
  partition: string
}

/**
 * Writes one request's body, piece by piece, from rows that come ordered by partner id. Between two pieces it takes at
 * most the rows of one property and the first row of the next, because no more may be in memory (payload.ts).
 */
export type BodyWriter = (rows: Iterable<OutgoingRow>, context: BodyContext) => Generator<string>

/** A JSON object whose last member is a list, written one element at a time. */
export function* objectWithList(head: object, list: string, elements: Iterable<object>): Generator<string> {
  const start = JSON.stringify(head).slice(0, -1)
  yield `${start}${start === '{' ? '' : ','}${JSON.stringify(list)}:[`
  let separator = ''
  for (const element of elements) {
    yield separator + JSON.stringify(element)
    separator = ','
  }
  yield ']}'
}

/** Rows of one property together, as long as they come in order. */
export function* byPartner(rows: Iterable<OutgoingRow>): Generator<[partnerId: string, rows: OutgoingRow[]]> {
  let partnerId: string | null = null
  let group: OutgoingRow[] = []
  for (const row of rows) {
    if (partnerId !== null && row.partner_id !== partnerId) {
      yield [partnerId, group]
      group = []
    }
    partnerId = row.partner_id
    group.push(row)
  }
  if (partnerId !== null) yield [partnerId, group]
}

/** Members whose value is known; absent details are left out, never sent empty. */
function withoutAbsent(members: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))
}

/** Body of POST company-mappings: the partner's ids with whatever public detail is known (Company mapping request). */
export const writeCompanyMappings: BodyWriter = function* (rows, context) {
  const { companyMappings: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, mappedCompanies(rows, context))
}

function* mappedCompanies(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { companyMappings: names } = contract.names
  for (const { partner_id, content } of rows) {
    const latitude = givenText(content, 'latitude')
    yield withoutAbsent({
      [names.id]: partner_id,
      [names.name]: givenText(content, 'name'),
      [names.street]: givenText(content, 'street'),
      [names.coordinates]:
        latitude === null
          ? null
          : { [names.latitude]: Number(latitude), [names.longitude]: Number(givenText(content, 'longitude')) },
      [names.countryCode]: givenText(content, 'country_code'),
      [names.airportCode]: givenText(content, 'airport_code'),
      [names.hotelCode]: givenText(content, 'hotel_code'),
      [names.bookingId]: givenText(content, 'booking_id'),
    })
  }
}

/**
 * Body of POST companies/upsert: custom property values by company (Versioning names the endpoint; its body is
 * assumed).
 */
export const writeCompanies: BodyWriter = function* (rows, context) {
  const { companies: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, companiesWithProperties(rows, context))
}

function* companiesWithProperties(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { companies: names } = contract.names
  for (const [partnerId, group] of byPartner(rows)) {
    yield {
      [names.identifier]: partnerId,
      [names.customProperties]: group.map(({ content }) => ({
        [names.propertyId]: text(content, 'property_id'),
        [names.value]: text(content, 'value'),
      })),
    }
  }
}

/**
 * Body of POST calculators/upsert: inputs by company and period, with the per-company switches (Calculator upsert
 * request).
 */
export const writeCalculators: BodyWriter = function* (rows, context) {
  const { calculators: names } = context.contract.names
  const head = { [names.groupId]: context.groupId, [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.companies, companiesWithInputs(rows, context))
}

function* companiesWithInputs(rows: Iterable<OutgoingRow>, context: BodyContext): Generator<object> {
  const { calculators: names } = context.contract.names
  for (const [partnerId, group] of byPartner(rows)) {
    const switches = group.find(({ stream }) => stream === 'calculator_settings')?.content ?? {}
    yield withoutAbsent({
      [names.identifier]: partnerId,
      [names.automaticYearlyCalculation]: switchOf(switches, 'automatic_yearly_calculation'),
      [names.automaticPublishing]: switchOf(switches, 'automatic_publishing'),
      [names.calculators]: group
        .filter(({ stream }) => stream === 'calculator_inputs')
        .map((row) => calculatorOf(row, context)),
    })
  }
}

function calculatorOf({ content }: OutgoingRow, { contract }: BodyContext): object {
  const { calculators: names } = contract.names
  const month = text(content, 'month')
  return {
    [names.period]: {
      [names.year]: Number(text(content, 'year')),
      ...(month !== null && { [names.month]: monthName(Number(month)) }),
    },
    [names.inputs]: Object.entries(inputsToSend(content)).map(([fieldTypeId, value]) => ({
      [names.fieldTypeId]: fieldTypeId,
      // Spec gap: how a stored value is cleared is not shown; a blank one is sent (docs/spec-gaps.md).
      [names.value]: value ?? '',
    })),
  }
}

function switchOf(content: Readonly<Record<string, unknown>>, name: string): boolean | null {
  const value = text(content, name)
  return value === null ? null : value === 'true'
}

/**
 * Body of POST framework-answers/upsert: answers and omissions by company and period (Framework answers upsert
 * request).
 */
export const writeFrameworkAnswers: BodyWriter = function* (rows, context) {
  const { frameworkAnswers: names } = context.contract.names
  const head = context.partition === '' ? {} : { [names.frameworkId]: context.partition }
  yield* objectWithList(head, names.companies, companiesWithAnswers(rows, context))
}

function* companiesWithAnswers(rows: Iterable<OutgoingRow>, context: BodyContext): Generator<object> {
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

/**
 * Body of POST standards/holders/upsert: certifications and commitments (Versioning names the endpoint; its body is
 * assumed).
 */
export const writeStandardHolders: BodyWriter = function* (rows, context) {
  const { standardHolders: names } = context.contract.names
  const head = { [names.customIdentifierId]: context.customIdentifierId }
  yield* objectWithList(head, names.holders, holders(rows, context))
}

function* holders(rows: Iterable<OutgoingRow>, { contract }: BodyContext): Generator<object> {
  const { standardHolders: names } = contract.names
  for (const { partner_id, content } of rows) {
    yield withoutAbsent({
      [names.identifier]: partner_id,
      [names.standardId]: text(content, 'standard_id'),
      [names.level]: text(content, 'level'),
      [names.startDate]: text(content, 'start_date'),
      [names.expiryDate]: text(content, 'expiry_date'),
    })
  }
}
