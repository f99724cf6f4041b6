import type { StreamName } from '../../src/config/schema.ts'

/**
 * One thing said about one hotel: `target` is where it is written at the service, so that two requests with one target
 * would overwrite each other; `value` is what it says there.
 */
export type Fact = { target: string; value: string }

type Json = Readonly<Record<string, unknown>>

const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/** A value as one text, whatever its type; none is empty, and a list is its elements. */
function text(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value)) return value.map(text).join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const target = (...parts: unknown[]): string => parts.map(text).join(' | ')

/** A month as a number, whether it is written as a name or as a number; none means January. */
function month(value: unknown): string {
  const named = months.indexOf(text(value))
  return named >= 0 ? String(named + 1) : text(value) || '1'
}

function period(of: Json): string {
  return target(of.periodType, of.year, month(of.month))
}

const answerTarget = (hotel: unknown, point: unknown, when: string) => target('answer', hotel, point, when)
const omissionTarget = (hotel: unknown, question: unknown, when: string) => target('omission', hotel, question, when)
const inputTarget = (hotel: unknown, year: unknown, of: unknown, field: unknown) =>
  target('input', hotel, year, text(of) === '' ? '' : month(of), field)

/** What a ledger row, or a partner's row, wants the service to hold. */
export function factsOfRow(stream: StreamName, hotel: string, content: Json): Fact[] {
  const when = target(content.period_type, content.year, month(content.month))
  switch (stream) {
    case 'properties':
      return [{ target: target('property', hotel), value: details(content) }]
    case 'framework_answers':
      return [
        {
          target: answerTarget(hotel, content.data_point_id, when),
          value: content.value_type === 'number' ? String(Number(content.value)) : text(content.value),
        },
      ]
    case 'omissions':
      return [{ target: omissionTarget(hotel, content.question_id, when), value: 'declined' }]
    case 'calculator_inputs': {
      const folded = content.inputs === undefined ? { [text(content.field_type_id)]: content.value } : content.inputs
      return Object.entries(object(folded)).map(([field, value]) => ({
        target: inputTarget(hotel, content.year, content.month, field),
        value: text(value),
      }))
    }
    case 'calculator_settings':
      return [
        { target: target('setting', hotel, 'yearly'), value: text(content.automatic_yearly_calculation) },
        { target: target('setting', hotel, 'publishing'), value: text(content.automatic_publishing) },
      ]
    case 'custom_property_values':
      return [{ target: target('value', hotel, content.property_id), value: text(content.value) }]
    case 'standard_holders':
      return [
        {
          target: target('standard', hotel, content.standard_id),
          value: target(content.level, content.start_date, content.expiry_date),
        },
      ]
    default:
      return stream satisfies never
  }
}

function details(content: Json): string {
  const { name, street, latitude, longitude, country_code, airport_code, hotel_code, booking_id } = content
  const numbers = latitude === undefined || latitude === null ? '' : `${text(latitude)} ${text(longitude)}`
  return target(name, street, numbers, country_code, airport_code, hotel_code, booking_id)
}

/** What a request says, read from its body as the service received it; `path` tells which kind it is. */
export function factsOfBody(path: string, body: Json): Fact[] {
  if (path.endsWith('/company-mappings')) {
    return list(body.companies).map((company) => {
      const { latitude, longitude } = object(company.coordinates)
      const content = {
        ...company,
        ...(latitude !== undefined && { latitude, longitude }),
        country_code: company.countryCode,
        airport_code: company.airportCode,
        hotel_code: company.hotelCode,
        booking_id: company.bookingId,
      }
      return { target: target('property', company.id), value: details(content) }
    })
  }
  if (path.endsWith('/framework-answers/upsert')) return list(body.companies).flatMap(answersOf)
  if (path.endsWith('/calculators/upsert')) return list(body.companies).flatMap(calculatorsOf)
  if (path.endsWith('/standards/holders/upsert')) {
    return list(body.holders).map((holder) => ({
      target: target('standard', holder.identifier, holder.standardId),
      value: target(holder.level, holder.startDate, holder.expiryDate),
    }))
  }
  if (path.endsWith('/companies/upsert')) {
    return list(body.companies).flatMap((company) =>
      list(company.customProperties).map(({ propertyId, value }) => ({
        target: target('value', company.identifier, propertyId),
        value: text(value),
      })),
    )
  }
  return []
}

function answersOf(company: Json): Fact[] {
  const hotel = object(object(company.identifiedBy).customProperty).value
  return list(company.periods).flatMap((one) => [
    ...list(one.answers).map((answer) => ({
      target: answerTarget(hotel, answer.dataPointId, period(one)),
      value: valueOfAnswer(answer.answer),
    })),
    ...list(one.omissions).map((omission) => ({
      target: omissionTarget(hotel, omission.questionId, period(one)),
      value: 'declined',
    })),
  ])
}

/** Exactly one typed member; a list of one option reads as that option. */
export function valueOfAnswer(answer: unknown): string {
  return text(Object.values(object(answer))[0])
}

function calculatorsOf(company: Json): Fact[] {
  const hotel = company.identifier
  const settings: Fact[] = [
    { target: target('setting', hotel, 'yearly'), value: text(company.automaticYearlyCalculation) },
    { target: target('setting', hotel, 'publishing'), value: text(company.automaticPublishing) },
  ]
  const inputs = list(company.calculators).flatMap((calculator) => {
    const { year, month: named } = object(calculator.period)
    return list(calculator.inputs).map(({ fieldTypeId, value }) => ({
      target: inputTarget(hotel, year, named, fieldTypeId),
      value: text(value),
    }))
  })
  return [...settings.filter(({ value }) => value !== ''), ...inputs]
}

/**
 * Whether a row of the service's report on a request, which names what it is about, is about a fact of that request.
 */
export function isAbout(path: string, row: Json, fact: Fact): boolean {
  const hotel = row.identifier
  if (path.endsWith('/company-mappings')) return fact.target === target('property', hotel)
  if (path.endsWith('/framework-answers/upsert')) {
    return row.questionId === undefined
      ? fact.target === answerTarget(hotel, row.dataPointId, period(row))
      : fact.target === omissionTarget(hotel, row.questionId, period(row))
  }
  // A company's calculators are taken whole or not at all.
  if (path.endsWith('/calculators/upsert')) return hotelOf(fact.target) === hotel
  if (path.endsWith('/standards/holders/upsert')) return fact.target === target('standard', hotel, row.standardId)
  return fact.target === target('value', hotel, row.propertyId)
}

export function hotelOf(of: string): string {
  return of.split(' | ')[1] ?? ''
}

/** Whether the service takes it only for a hotel whose mapping it has accepted. */
export function isDependent(of: string): boolean {
  return !of.startsWith('property | ')
}
