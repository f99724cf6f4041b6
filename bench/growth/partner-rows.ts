import { createHash } from 'node:crypto'
import type { FrameworkIndex } from '../../src/exchange/reference-data.ts'

/** A row of the partner on its way into the ledger. */
export type PartnerRow = { partnerId: string; rowKey: string; content: Record<string, unknown> }

/** Answers and inputs of one property. */
const perProperty = 10

export const partnerIdOf = (property: number) => `H-${String(property).padStart(7, '0')}`

/** Ids as the service has them: the same for the same name. */
function idOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}

/** More than are answered: a framework asks more than anybody answers. */
const asked = 200
const points = Array.from({ length: asked }, (_, index) => idOf(`data point ${index}`))
const questionOf = (point: string) => idOf(`question of ${point}`)
const fields = [idOf('electricity'), idOf('gas')] as const
const framework = idOf('framework')

/** One property for ten `rows`. */
export function propertiesOf(rows: number): PartnerRow[] {
  return Array.from({ length: rows / perProperty }, (_, property) => {
    const partnerId = partnerIdOf(property)
    return { partnerId, rowKey: partnerId, content: { name: `Hotel ${property}`, country_code: 'DK' } }
  })
}

/** @param version other versions have other contents under the same keys. */
export function answersOf(rows: number, version: number): PartnerRow[] {
  return Array.from({ length: rows }, (_, index) => {
    const partnerId = partnerIdOf(Math.floor(index / perProperty))
    const point = points[index % perProperty]
    const period = { period_type: 'Yearly', year: 2025, month: null }
    const said = { value: String(index + version), value_type: 'number', unit_id: null }
    return {
      partnerId,
      rowKey: `${partnerId} ${point} Yearly 2025`,
      content: { framework_id: framework, ...period, data_point_id: point, ...said },
    }
  })
}

/** One question that each property declines, and does not answer. */
export function omissionsOf(rows: number): PartnerRow[] {
  return Array.from({ length: rows / perProperty }, (_, property) => {
    const partnerId = partnerIdOf(property)
    const question = questionOf(points[perProperty + (property % (asked - perProperty))] ?? '')
    const period = { period_type: 'Yearly', year: 2025, month: null }
    return { partnerId, rowKey: `${partnerId} ${question}`, content: { ...period, question_id: question } }
  })
}

/** The framework that the answers are of, as Nightferry keeps it. */
export const frameworkDocument: Omit<FrameworkIndex, 'raw'> = {
  id: framework,
  title: 'Framework',
  questionIds: points.map(questionOf),
  dataPoints: points.map((id) => {
    const unlimited = { reportingPeriodType: null, optionIds: [], unitIds: [] }
    return { id, questionId: questionOf(id), valueType: 'Number', ...unlimited }
  }),
  titles: {},
}

/** A month of a property is one row with two inputs. */
export function inputsOf(rows: number, version: number): PartnerRow[] {
  return Array.from({ length: rows }, (_, index) => {
    const partnerId = partnerIdOf(Math.floor(index / perProperty))
    const month = (index % perProperty) + 1
    const inputs = Object.fromEntries(fields.map((field, at) => [field, String(index + at + version)]))
    return { partnerId, rowKey: `${partnerId} 2025 ${month}`, content: { year: 2025, month, inputs } }
  })
}
