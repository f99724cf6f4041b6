import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPartnerDatabase } from '../../src/demo/partner/create-partner-database.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { some } from '../helpers/some.ts'
import { testPool } from '../helpers/test-pool.ts'
import { type Row, readStream } from './read-streams.ts'

const hotels = 150
const day = /^\d{4}-\d\d-\d\d$/
const questions = catalogue.frameworks.flatMap(({ id: frameworkId, topics }) =>
  topics.flatMap(({ subtopics }) =>
    subtopics.flatMap(({ clusters }) =>
      clusters.flatMap((cluster) => cluster.questions.map((question) => ({ ...question, frameworkId }))),
    ),
  ),
)
const dataPoints = new Map(
  questions.flatMap(({ id: questionId, frameworkId, dataPoints }) =>
    dataPoints.map((dataPoint) => [dataPoint.id, { ...dataPoint, questionId, frameworkId }] as const),
  ),
)

let pool: pg.Pool
let closeDatabase: () => PromiseLike<void>

beforeAll(async () => {
  const database = await testDatabase({ template: 'empty' })
  closeDatabase = () => database[Symbol.asyncDispose]()
  pool = testPool(database.url, 2)
  await createPartnerDatabase(pool, { hotels, seed: 11, asOf: new Date('2026-11-20T02:00:00Z') })
})

afterAll(async () => {
  await pool.end()
  await closeDatabase()
})

function perHotel(rows: Row[]): Map<unknown, Row[]> {
  return Map.groupBy(rows, (row) => row.partner_id)
}

function dataPointOf(row: Row) {
  const found = dataPoints.get(String(row.data_point_id))
  if (found === undefined) throw new Error(`No data point of the catalogue: ${JSON.stringify(row)}`)
  return found
}

describe('an answer of the demo', () => {
  it('refers to a data point of the catalogue, in its framework or in none', async () => {
    for (const row of some(await readStream(pool, 'framework_answers'))) {
      expect([dataPointOf(row).frameworkId, null]).toContain(row.framework_id)
    }
  })

  it('has a value of the type, the options and the bounds of its data point', async () => {
    const optionIds = new Map([...dataPoints].map(([id, { options }]) => [id, options.map((option) => option.id)]))
    for (const row of some(await readStream(pool, 'framework_answers'))) {
      const { id, valueType, min, max } = dataPointOf(row)
      const value = String(row.value)
      expect([valueType === 'dateRange' ? 'date_range' : valueType, null]).toContain(row.value_type)
      const fits = {
        text: () => value.trim() !== '',
        number: () => /^\d+(\.\d+)?$/.test(value) && Number(value) >= (min ?? 0) && Number(value) <= (max ?? Infinity),
        boolean: () => ['true', 'false'].includes(value),
        date: () => day.test(value),
        dateRange: () => value.split('/').every((part) => day.test(part)) && value.slice(0, 10) < value.slice(11),
        list: () => (JSON.parse(value) as string[]).every((option) => optionIds.get(id)?.includes(option)),
      }
      expect(fits[valueType](), JSON.stringify(row)).toBe(true)
    }
  })

  it('carries a unit of its data point exactly when that has units', async () => {
    for (const row of some(await readStream(pool, 'framework_answers'))) {
      const units = dataPointOf(row).unitTypes.flatMap((type) => type.units.map((unit) => unit.id))
      if (units.length === 0) expect(row.unit_id).toBeNull()
      else expect(units).toContain(row.unit_id)
    }
  })

  it('an answer of the demo is about a period that its data point allows', async () => {
    for (const row of some(await readStream(pool, 'framework_answers'))) {
      const { reportingPeriodType } = dataPointOf(row)
      expect(row.year).toBe(2025)
      if (reportingPeriodType !== 'Any') expect(row.period_type).toBe(reportingPeriodType)
      expect(['Yearly', 'Monthly']).toContain(row.period_type)
      if (row.period_type === 'Monthly') expect(row.month).not.toBeNull()
      if (row.month !== null) expect(Array.from({ length: 12 }, (_, index) => index + 1)).toContain(row.month)
    }
  })
})

describe('a hotel of the demo', () => {
  it('answers eight to fourteen data points, once each, every value type among them', async () => {
    const answers = perHotel(await readStream(pool, 'framework_answers'))
    expect(answers.size).toBe(hotels)
    for (const rows of some(answers.values())) {
      expect(rows.length).toBeGreaterThanOrEqual(8)
      expect(rows.length).toBeLessThanOrEqual(14)
      expect(new Set(rows.map((row) => row.data_point_id)).size).toBe(rows.length)
      expect(new Set(rows.map((row) => dataPointOf(row).valueType)).size).toBe(6)
    }
  })

  it('declines at most two questions, and answers no part of those', async () => {
    const answers = perHotel(await readStream(pool, 'framework_answers'))
    const omissions = perHotel(await readStream(pool, 'omissions'))
    const known = new Set(questions.map(({ id }) => id))
    for (const [partnerId, rows] of some(omissions)) {
      const answered = answers.get(partnerId)?.map((row) => dataPointOf(row).questionId)
      expect(rows.length).toBeLessThanOrEqual(2)
      for (const { question_id } of some(rows)) {
        expect(known).toContain(question_id)
        expect(answered).not.toContain(question_id)
      }
    }
  })

  it('reads four to six meters in every month of 2025, and states 2024 as a whole', async () => {
    const known = new Set(catalogue.fieldTypes.map(({ id }) => id))
    const readings = perHotel(await readStream(pool, 'calculator_inputs'))
    expect(readings.size).toBe(hotels)
    for (const rows of some(readings.values())) {
      const months = Map.groupBy(rows, (row) => `${String(row.year)}-${String(row.month)}`)
      const expected = [...Array.from({ length: 12 }, (_, index) => `2025-${index + 1}`), '2024-null']
      expect([...months.keys()].sort()).toEqual(expected.sort())
      for (const [period, inputs] of some(months)) {
        if (period !== '2024-null') expect([4, 5, 6]).toContain(inputs.length)
      }
      expect(rows.filter((row) => !known.has(String(row.field_type_id)))).toEqual([])
      expect(rows.filter((row) => !/^\d+(\.\d+)?$/.test(String(row.value)))).toEqual([])
    }
  })

  it('holds at most two certificates, at levels of their standards, that expire after they start', async () => {
    const standards = new Map(catalogue.standards.map(({ id, levels }) => [id, levels]))
    for (const rows of some(perHotel(await readStream(pool, 'standard_holders')).values())) {
      expect(rows.length).toBeLessThanOrEqual(2)
      for (const { standard_id, level, start_date, expiry_date } of some(rows)) {
        const levels = standards.get(String(standard_id))
        if (levels?.length === 0) expect(level).toBeNull()
        else expect(levels).toContain(level)
        expect(String(start_date)).toMatch(day)
        expect(String(expiry_date) > String(start_date)).toBe(true)
      }
    }
  })

  it('has one row of settings', async () => {
    const settings = perHotel(await readStream(pool, 'calculator_settings'))
    expect(settings.size).toBe(hotels)
    expect([...settings.values()].every((rows) => rows.length === 1)).toBe(true)
  })
})
