import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DataPoint, dataPointsOf, questionsOf, type ValueType } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { identifiedBy, mapHotels, partnerId } from './bodies.ts'
import { contract, type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

let sandbox: OpenSandbox
beforeAll(async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(...Array.from({ length: 30 }, (_, index) => index + 1)))
})
afterAll(() => sandbox.close())

const points = catalogue.frameworks.flatMap(dataPointsOf)
const question = catalogue.frameworks.flatMap(questionsOf)[0]

function pointOf(valueType: ValueType, reportingPeriodType?: string): DataPoint {
  const found = points.find(
    (point) =>
      point.valueType === valueType &&
      (reportingPeriodType === undefined || point.reportingPeriodType === reportingPeriodType),
  )
  if (!found) throw new Error(`the catalogue has no ${reportingPeriodType ?? ''} data point of type ${valueType}`)
  return found
}

const good: Record<ValueType, (point: DataPoint) => unknown> = {
  text: () => ({ text: 'Тест "🌿"' }),
  number: () => ({ number: 12.5 }),
  boolean: () => ({ boolean: false }),
  date: () => ({ dateIso: '2024-02-29' }),
  dateRange: () => ({ dateRangeFromDateIso: '2025-01-01', dateRangeToDateIso: '2025-12-31' }),
  list: (point) => ({ list: point.options.map((option) => option.id) }),
}

function answerTo(point: DataPoint, answer: unknown = good[point.valueType](point), unitId?: string | null) {
  const unit = unitId === undefined ? point.unitTypes[0]?.units[0]?.id : unitId
  return { dataPointId: point.id, answer, ...(unit != null && { unitId: unit }) }
}

function periodFor(point: DataPoint) {
  return point.reportingPeriodType === 'Monthly'
    ? { periodType: 'Monthly', year: 2025, month: 'March' }
    : { periodType: 'Yearly', year: 2025 }
}

async function upsert(periods: unknown[], extra: Record<string, unknown> = {}, by: unknown = identifiedBy(1)) {
  return sandbox.run('frameworkAnswersUpsert', { companies: [{ identifiedBy: by, periods }], ...extra })
}

/** The reason why the one row of this period was refused; undefined when it was accepted. */
async function reasonFor(period: Record<string, unknown>): Promise<string | undefined> {
  const task = await upsert([period])
  expect(task.status).toBe(task.error ? 'Error' : 'Success')
  return task.error?.rowErrors[0]?.reason
}

it('the sandbox accepts a valid answer to every data point of the catalogue', async () => {
  const task = await upsert(points.map((point) => ({ ...periodFor(point), answers: [answerTo(point)] })))
  expect(task).toMatchObject({ status: 'Success', requestType: 'BulkUpsertFrameworkAnswers' })
  expect(task).not.toHaveProperty('error')
  expect(task).not.toHaveProperty('file')
  const { rows } = await sandbox.pool.query('select distinct data_point_id from sandbox.answer')
  expect(rows).toHaveLength(points.length)
})

it('the sandbox keeps the good rows and reports each bad one with all that names it', async () => {
  const number = pointOf('number', 'Monthly')
  const task = await upsert([
    { periodType: 'Monthly', year: 2025, month: 'May', answers: [answerTo(number), answerTo(number, { number: -1 })] },
    { periodType: 'Yearly', year: 2025, omissions: [{ questionId: question?.id }, { questionId: number.id }] },
  ])
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors).toEqual([
    {
      companyId: companyIdAt(seed, 1),
      identifiedByValue: 'H-0001',
      dataPointId: number.id,
      periodType: 'Monthly',
      year: 2025,
      month: 'May',
      reason: 'value_out_of_range',
      message: expect.stringContaining('-1'),
    },
    {
      companyId: companyIdAt(seed, 1),
      identifiedByValue: 'H-0001',
      questionId: number.id,
      periodType: 'Yearly',
      year: 2025,
      reason: 'question_not_found',
      message: expect.any(String),
    },
  ])
})

describe('refuses a row whose', () => {
  const number = pointOf('number', 'Yearly')
  const text = pointOf('text', 'Yearly')
  const list = pointOf('list')
  const yearly = { periodType: 'Yearly', year: 2025 }
  const monthly = { periodType: 'Monthly', year: 2025, month: 'June' }
  it.each([
    ['data point is unknown', 'data_point_not_found', { ...yearly, answers: [{ dataPointId: 'x', answer: {} }] }],
    ['value is of another type', 'value_type_mismatch', { ...yearly, answers: [answerTo(number, { text: '5' })] }],
    ['value is text for a number', 'value_type_mismatch', { ...yearly, answers: [answerTo(number, { number: '5' })] }],
    [
      'answer is two values',
      'value_type_mismatch',
      { ...yearly, answers: [answerTo(number, { number: 1, text: '' })] },
    ],
    ['answer is empty', 'value_type_mismatch', { ...yearly, answers: [answerTo(number, {})] }],
    ['text is blank', 'value_blank', { ...yearly, answers: [answerTo(text, { text: ' ' })] }],
    ['text holds NUL', 'text_not_storable', { ...yearly, answers: [answerTo(text, { text: 'a\0' })] }],
    ['option is unknown', 'option_not_found', { ...yearly, answers: [answerTo(list, { list: [number.id] })] }],
    ['list is empty', 'value_type_mismatch', { ...yearly, answers: [answerTo(list, { list: [] })] }],
    ['unit is missing', 'unit_missing', { ...yearly, answers: [answerTo(pointOf('number'), undefined, null)] }],
    [
      'unit is one of another kind',
      'unit_not_allowed',
      { ...yearly, answers: [answerTo(pointOf('number'), undefined, catalogue.unitTypes[2]?.units[0]?.id)] },
    ],
    [
      'unit is given where there is none',
      'unit_not_allowed',
      { ...yearly, answers: [answerTo(text, undefined, catalogue.unitTypes[0]?.units[0]?.id)] },
    ],
    ['number is too large', 'value_out_of_range', { ...yearly, answers: [answerTo(number, { number: 1e12 })] }],
    [
      'date does not exist',
      'date_invalid',
      { ...yearly, answers: [answerTo(pointOf('date'), { dateIso: '2025-02-29' })] },
    ],
    [
      'range ends before it begins',
      'date_range_reversed',
      {
        ...yearly,
        answers: [
          answerTo(pointOf('dateRange'), { dateRangeFromDateIso: '2025-02-01', dateRangeToDateIso: '2025-01-01' }),
        ],
      },
    ],
    ['period type is not for the data point', 'period_type_not_allowed', { ...monthly, answers: [answerTo(number)] }],
    ['period type is unknown', 'period_type_unknown', { ...yearly, periodType: 'Weekly', answers: [answerTo(number)] }],
    ['year is missing', 'year_invalid', { periodType: 'Yearly', answers: [answerTo(number)] }],
    [
      'month is missing',
      'month_missing',
      { periodType: 'Monthly', year: 2025, omissions: [{ questionId: question?.id }] },
    ],
    ['month is no month', 'month_invalid', { ...monthly, month: '13', omissions: [{ questionId: question?.id }] }],
  ])('%s', async (_what, reason, period) => {
    expect(await reasonFor(period)).toBe(reason)
  })
})

it('the sandbox takes a yearly period without a month as one that starts in January', async () => {
  const point = pointOf('boolean', 'Yearly')
  const stored = async () => {
    const { rows } = await sandbox.pool.query(
      'select month, value from sandbox.answer where company_id = $1 and data_point_id = $2 and year = 2020',
      [companyIdAt(seed, 2), point.id],
    )
    return rows
  }
  await upsert(
    [{ periodType: 'Yearly', year: 2020, answers: [answerTo(point, { boolean: false })] }],
    {},
    identifiedBy(2),
  )
  await upsert(
    [{ periodType: 'Yearly', year: 2020, month: 'January', answers: [answerTo(point, { boolean: true })] }],
    {},
    identifiedBy(2),
  )
  expect(await stored()).toEqual([{ month: 1, value: { boolean: true } }])
})

it('the sandbox finds the company by its own id, and fails every row of one that it does not find', async () => {
  const rows = { ...periodFor(pointOf('boolean', 'Yearly')), answers: [answerTo(pointOf('boolean', 'Yearly'))] }
  const both = { ...rows, omissions: [{ questionId: question?.id }] }
  const byId = await upsert([rows], {}, { companyId: companyIdAt(seed, 40) })
  expect(byId.status).toBe('Success')
  const unmapped = await upsert([both], {}, identifiedBy(41))
  expect(unmapped.status).toBe('Error')
  expect(unmapped.error?.rowErrors.map((row) => [row.companyId, row.identifiedByValue, row.reason])).toEqual([
    [null, partnerId(41), 'company_not_found'],
    [null, partnerId(41), 'company_not_found'],
  ])
})

it('the sandbox names the company of a failed row by the id that was sent', async () => {
  const point = pointOf('boolean', 'Yearly')
  const periods = [{ ...periodFor(point), answers: [answerTo(point)] }]
  const [known, another, nobodys] = [companyIdAt(seed, 1), companyIdAt(seed, 2), catalogue.groupId]
  const failedOf = async (ids: string[], { key = 'demo-key', ...extra }: { key?: string; frameworkId?: string }) => {
    const companies = ids.map((companyId) => ({ identifiedBy: { companyId }, periods }))
    const task = await sandbox.run('frameworkAnswersUpsert', { ...extra, companies }, key)
    return task.error?.rowErrors.map((row) => [row.companyId, row.identifiedByValue, row.reason])
  }
  expect(await failedOf([known, another], { key: 'other-key' })).toEqual([
    [known, null, 'company_not_accessible'],
    [another, null, 'company_not_accessible'],
  ])
  expect(await failedOf([nobodys, 'no UUID'], {})).toEqual([
    [nobodys, null, 'company_not_found'],
    [null, null, 'company_not_found'],
  ])
  expect(await failedOf([known, nobodys], { frameworkId: catalogue.groupId })).toEqual([
    [known, null, 'framework_not_found'],
    [nobodys, null, 'framework_not_found'],
  ])
  const unnamed = { companies: [{ identifiedBy: { companyId: nobodys } }] }
  const { error } = await sandbox.run('frameworkAnswersUpsert', unnamed)
  expect(error?.rowErrors).toMatchObject([{ companyId: nobodys, reason: 'company_not_found' }])
  const mapped = await upsert(periods, { frameworkId: catalogue.groupId })
  expect(mapped.error?.rowErrors).toMatchObject([{ companyId: known, identifiedByValue: partnerId(1) }])
})

it('the sandbox repeats the ids of a failed row as they were sent, and stores by them in any letter case', async () => {
  const point = pointOf('number', 'Yearly')
  const [company, dataPointId, questionId] = [companyIdAt(seed, 40), point.id, question?.id ?? ''].map((id) =>
    id.toUpperCase(),
  )
  const period = { periodType: 'Yearly', year: 1996 }
  const [low, high] = [answerTo(point, { number: -1 }), answerTo(point)]
  const answers = [
    { ...low, dataPointId },
    { ...high, dataPointId },
    { ...high, dataPointId: 'No Point' },
  ]
  const omissions = [{ questionId }, { questionId: 'No Question' }]
  const task = await upsert([{ ...period, answers: [high, ...answers], omissions }], {}, { companyId: company })
  expect(task.error?.rowErrors).toMatchObject([
    { companyId: company, dataPointId, reason: 'value_out_of_range' },
    { companyId: company, dataPointId: 'No Point', reason: 'data_point_not_found' },
    { companyId: company, questionId: 'No Question', reason: 'question_not_found' },
  ])
  const { rows } = await sandbox.pool.query(
    `select data_point_id as id from sandbox.answer where year = 1996 union all
     select question_id from sandbox.omission where year = 1996`,
  )
  expect(rows).toEqual([{ id: point.id }, { id: question?.id }])
})

it("the sandbox answers 403 to another profile's property, and fails rows of companies outside the profile's groups", async () => {
  const point = pointOf('boolean', 'Yearly')
  const body = (by: unknown) => ({
    companies: [{ identifiedBy: by, periods: [{ ...periodFor(point), answers: [answerTo(point)] }] }],
  })
  const { path } = contract.endpoints.frameworkAnswersUpsert
  const foreign = await sandbox.call('POST', path, { body: body(identifiedBy(1)), key: 'other-key' })
  expect([foreign.status, foreign.body.errorCode]).toEqual([403, 'custom_property_not_accessible'])
  const outside = await sandbox.run('frameworkAnswersUpsert', body({ companyId: companyIdAt(seed, 1) }), 'other-key')
  expect(outside.error?.rowErrors[0]?.reason).toBe('company_not_accessible')
  const inside = await sandbox.run('frameworkAnswersUpsert', body({ companyId: companyIdAt(seed, 10) }), 'other-key')
  expect(inside.status).toBe('Success')
})

it('the sandbox fails the one row whose option is nested deeper than can be written out', async () => {
  const [list, text] = [pointOf('list'), pointOf('text')]
  const periods = [
    { ...periodFor(list), answers: [answerTo(list, { list: ['deep'] })] },
    { ...periodFor(text), answers: [answerTo(text)] },
  ]
  const body = JSON.stringify({ companies: [{ identifiedBy: identifiedBy(1), periods }] })
  const raw = body.replace('"deep"', '['.repeat(100_000) + ']'.repeat(100_000))
  const { method, path } = contract.endpoints.frameworkAnswersUpsert
  const { body: submitted } = await sandbox.call<{ correlationId: string }>(method, path, { raw })
  const task = await sandbox.finished(submitted.correlationId)
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map(({ reason }) => reason)).toEqual(['option_not_found'])
})

it('the sandbox takes every unit of a data point, and every option, whatever the letter case of its id', async () => {
  const units = points.flatMap((point) =>
    point.unitTypes.flatMap((type) =>
      type.units.map((unit) => ({ ...periodFor(point), answers: [answerTo(point, undefined, unit.id.toUpperCase())] })),
    ),
  )
  const options = points.flatMap((point) =>
    point.options.map((option) => ({
      ...periodFor(point),
      answers: [answerTo(point, { list: [option.id.toUpperCase(), option.id] })],
    })),
  )
  expect([units.length > 5, options.length > 5]).toEqual([true, true])
  expect((await upsert([...units, ...options])).status).toBe('Success')
  const { rows } = await sandbox.pool.query(
    `select value from sandbox.answer where company_id = $1 and data_point_id = $2`,
    [companyIdAt(seed, 1), pointOf('list').id],
  )
  expect(rows).toEqual([{ value: { list: [pointOf('list').options.at(-1)?.id] } }])
})

it('the sandbox takes a member that is null for one that is absent, and does not keep it', async () => {
  const point = pointOf('boolean', 'Yearly')
  const answer = { boolean: true, text: null, number: null }
  const period = { periodType: 'Yearly', year: 1999, month: null, answers: [answerTo(point, answer)], omissions: null }
  expect((await upsert([period])).status).toBe('Success')
  const { rows } = await sandbox.pool.query('select value, month from sandbox.answer where year = 1999')
  expect(rows).toEqual([{ value: { boolean: true }, month: 1 }])
})

it('the sandbox keeps apart a yearly and a monthly period that begin with the same month, and years that begin differently', async () => {
  const point = points.find(
    ({ reportingPeriodType, valueType }) => reportingPeriodType === 'Any' && valueType === 'text',
  )
  if (!point) throw new Error('the catalogue has no text for any period')
  const periods = [
    { periodType: 'Yearly', year: 1998 },
    { periodType: 'Yearly', year: 1998, month: 'April' },
    { periodType: 'Monthly', year: 1998, month: 'January' },
    { periodType: 'Monthly', year: 1998, month: 'april' },
  ]
  const sent = periods.map((period, nth) => ({ ...period, answers: [answerTo(point, { text: `T${nth}` })] }))
  expect((await upsert(sent)).status).toBe('Success')
  const { rows } = await sandbox.pool.query(
    `select period_type, month, value ->> 'text' as text from sandbox.answer where year = 1998 order by text`,
  )
  expect(rows.map(({ period_type, month, text }) => [period_type, month, text])).toEqual([
    ['Yearly', 1, 'T0'],
    ['Yearly', 4, 'T1'],
    ['Monthly', 1, 'T2'],
    ['Monthly', 4, 'T3'],
  ])
})

it('the sandbox records an omission whether or not a framework is named, and assigns none when none is', async () => {
  const omission = { periodType: 'Monthly', year: 1997, month: 'June', omissions: [{ questionId: question?.id }] }
  const frameworkId = catalogue.frameworks[0]?.id
  expect((await upsert([omission], {}, identifiedBy(4))).status).toBe('Success')
  expect((await upsert([omission], { frameworkId }, identifiedBy(5))).status).toBe('Success')
  const { rows } = await sandbox.pool.query(
    `select company_id, framework_id, assigned.period_type, assigned.month
     from sandbox.omission left join sandbox.framework_assignment assigned using (company_id, year)
     where year = 1997 order by framework_id nulls first`,
  )
  expect(rows).toEqual([
    { company_id: companyIdAt(seed, 4), framework_id: null, period_type: null, month: null },
    { company_id: companyIdAt(seed, 5), framework_id: frameworkId, period_type: 'Monthly', month: 6 },
  ])
})

it('the sandbox assigns the framework for the reported periods, and fails every row of an unknown one', async () => {
  const frameworkId = catalogue.frameworks[1]?.id
  const periods = [{ periodType: 'Yearly', year: 2019, omissions: [{ questionId: question?.id }] }]
  expect((await upsert(periods, { frameworkId }, identifiedBy(3))).status).toBe('Success')
  const { rows } = await sandbox.pool.query(
    'select framework_id, period_type, year, month from sandbox.framework_assignment where company_id = $1',
    [companyIdAt(seed, 3)],
  )
  expect(rows).toEqual([{ framework_id: frameworkId, period_type: 'Yearly', year: 2019, month: 1 }])
  const unknown = await upsert(periods, { frameworkId: catalogue.groupId })
  expect([unknown.status, unknown.error?.rowErrors.map((row) => row.reason)]).toEqual([
    'Error',
    ['framework_not_found'],
  ])
})

it('the sandbox accepts 50,000 answers and omissions together and answers 400 to one more', async () => {
  const point = pointOf('boolean', 'Yearly')
  const body = (answers: number) => ({
    companies: Array.from({ length: 100 }, (_, nth) => ({
      identifiedBy: { companyId: companyIdAt(seed, 1 + (nth % 30)) },
      periods: [
        {
          ...periodFor(point),
          answers: Array.from({ length: nth === 0 ? answers : 499 }, () => answerTo(point)),
          omissions: [{ questionId: question?.id }],
        },
      ],
    })),
  })
  const path = '/api/v2/bulk/framework-answers/upsert'
  const tooMany = await sandbox.call('POST', path, { body: body(500) })
  expect([tooMany.status, tooMany.body.errorCode]).toEqual([400, 'too_many_answers'])
  expect((await sandbox.run('frameworkAnswersUpsert', body(499))).status).toBe('Success')
})
