import { expect, test } from 'vitest'
import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { questionsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { conform } from '../conformance/conform.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { answers, answerWith, type BrokenRule, broken, companies, failsWithoutRows, periods } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'
import { everything, judgeBroken, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())

/** What the specification leaves open of answers, and the sandbox does in another way: no rule is broken. */
const variants: BrokenRule[] = [
  ...(['answers/periods', 'answers/yearly', 'answers/omission', 'answers/typed'] as const).map((statement) =>
    broken(statement, 'the year of answers is a text', (year) =>
      periods(year, (period) => {
        period.year = String(year)
      }),
    ),
  ),
  broken('answers/yearly', 'a yearly period that begins in January names no month', (year) =>
    periods(year, (period) => {
      if (period.periodType === 'Yearly' && period.month === 'January') delete period.month
    }),
  ),
  ...(
    [
      'answers/framework',
      'answers/entry',
      'answers/periods',
      'answers/yearly',
      'answers/monthly',
      'answers/typed',
      'answers/omission',
      'mapping/stored',
    ] as const
  ).map((statement) =>
    broken(statement, 'months are in small letters', (year) =>
      periods(year, (period) => {
        if (typeof period.month === 'string') period.month = period.month.toLowerCase()
      }),
    ),
  ),
  broken('answers/typed', 'a number has decimals, a date a time, and ids are in capitals', (year) =>
    periods(year, (period) => {
      for (const one of objectsOf(period.answers)) writeOtherwise(one)
    }),
  ),
  ...(['answers/typed', 'answers/entry', 'answers/monthly'] as const).map((statement) =>
    broken(statement, 'no data point may be answered yearly', () => ofOneType('Monthly')),
  ),
]

/** What is right, and shows nothing of the statement. */
const unseen: BrokenRule[] = [
  ...(['answers/monthly', 'answers/both'] as const).map((statement) =>
    broken(statement, 'no data point may be answered monthly', () => ofOneType('Yearly')),
  ),
  broken('answers/both', 'no data point may be answered yearly', () => ofOneType('Monthly')),
  broken('answers/typed', 'the page shows no values', (year) =>
    periods(year, (period) => {
      for (const answer of objectsOf(period.answers)) delete answer.answer
    }),
  ),
  broken('answers/typed', 'the page shows no units', (year) =>
    periods(year, (period) => {
      for (const answer of objectsOf(period.answers)) delete answer.unitId
    }),
  ),
  broken('answers/typed', 'values are spelt otherwise on the page', (year) =>
    periods(year, (period) => {
      for (const one of objectsOf(period.answers)) one.answer = { value: Object.values(one.answer as Json)[0] }
    }),
  ),
  broken('mapping/stored', 'no page of answers comes', () =>
    answers('POST /v2/bulk/framework-answers/search', (exchange) => answerWith(exchange, 503)),
  ),
  broken('mapping/stored', 'periods are spelt otherwise on the page', () =>
    companies('BulkGetFrameworkAnswers', (company) => {
      company.reportingPeriods = company.periods
      delete company.periods
    }),
  ),
  broken('mapping/stored', 'answers are not taken at all', () =>
    answers('POST /v2/bulk/framework-answers/upsert', (exchange) => answerWith(exchange, 500)),
  ),
  broken('mapping/stored', 'answers end in Error, and no row is named', () =>
    failsWithoutRows('BulkUpsertFrameworkAnswers'),
  ),
]

test.each(variants)('$statement holds where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'holds', isBroken: true })
})

test.each(unseen)('$statement is not observed where $rule', async (variant) => {
  expect(await judgeBroken(service, variant)).toMatchObject({ verdict: 'not observed', isBroken: true })
})

test('a question that is declined is the same for the deprecated upsert, whatever framework is the first', async () => {
  const declined = new Map<string, Set<unknown>>()
  service.break({
    answer: ({ method, path, asked, answer }) => {
      if (path.endsWith(`/frameworks/${catalogue.frameworks[0]?.id}`)) answer.json = withOneQuestion(answer.json)
      const [, endpoint] = /\/((?:framework|performance)-answers)\/upsert$/.exec(path) ?? []
      if (method === 'POST' && endpoint) declined.set(endpoint, new Set(questionIdsIn(asked())))
    },
  })
  const only = ['versioning/deprecated/performance-answers-upsert', 'answers/omission'] as const
  await conform(service.url, { ...everything, only })
  const [again] = declined.get('performance-answers') ?? []
  expect(again).toBeTruthy()
  expect(declined.get('framework-answers')).toContain(again)
})

test('a question that is declined is not answered for the same period', async () => {
  const sent = { answered: new Set<string>(), declined: new Set<string>() }
  const questions = new Map(
    catalogue.frameworks.flatMap(questionsOf).flatMap(({ id, dataPoints }) => dataPoints.map((one) => [one.id, id])),
  )
  service.break({
    answer: ({ path, asked }) => {
      if (!/\/(framework|performance)-answers\/upsert$/.test(path)) return
      for (const period of objectsOf(at(asked(), 'companies')).flatMap((entry) => objectsOf(entry.periods))) {
        const { periodType, year, month = 'January' } = period
        const place = (question: unknown) => JSON.stringify([periodType, year, month, question])
        for (const { dataPointId } of objectsOf(period.answers))
          sent.answered.add(place(questions.get(String(dataPointId))))
        for (const { questionId } of objectsOf(period.omissions)) sent.declined.add(place(questionId))
      }
    },
  })
  const only = ['answers/both', 'versioning/deprecated/performance-answers-upsert'] as const
  await conform(service.url, { ...everything, only })
  expect(sent.answered.size).toBeGreaterThan(4)
  expect([...sent.answered].filter((place) => sent.declined.has(place))).toEqual([])
})

/** A framework cut down to the first of its questions. */
function withOneQuestion(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(withOneQuestion)
  return isObject(value) ? mapped(value, withOneQuestion) : value
}

function questionIdsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(questionIdsIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, member]) => (key === 'questionId' ? [member] : questionIdsIn(member)))
}

const wordOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))

/** An answer as it may be written as well. */
function writeOtherwise(one: Json): void {
  const { number, dateIso, list } = one.answer as Json
  if (number !== undefined) one.answer = { number: Number(number).toFixed(2) }
  if (dateIso !== undefined) one.answer = { dateIso: `${wordOf(dateIso)}T00:00:00Z` }
  if (list !== undefined) one.answer = { list: [list].flat().map((id) => wordOf(id).toUpperCase()) }
  one.dataPointId = wordOf(one.dataPointId).toUpperCase()
  if (one.unitId !== undefined) one.unitId = wordOf(one.unitId).toUpperCase()
}

/** All data points of all frameworks may be answered for periods of this type alone. */
function ofOneType(reportingPeriodType: string): Hooks {
  const retype = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(retype)
    if (!isObject(value)) return value
    const inner = mapped(value, retype)
    return value.reportingPeriodType === undefined ? inner : { ...inner, reportingPeriodType }
  }
  return answers('GET /frameworks/*', ({ answer }) => {
    answer.json = retype(answer.json)
  })
}

const mapped = (map: unknown, change: (value: unknown) => unknown) =>
  Object.fromEntries(Object.entries(isObject(map) ? map : {}).map(([key, value]) => [key, change(value)]))
