import { randomUUID } from 'node:crypto'
import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { type BrokenRule, broken, companies, files, periods, withoutMonths } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'

/**
 * Rules of what a mapping and the answers store. The suite sends January and March by a value of the identifier and
 * July by the company's id, with a framework; then October by the id, without one.
 */
export const answerRules = (): BrokenRule[] => [
  broken('mapping/details', 'a mapping finds another company', () =>
    files(null, (file) => {
      for (const company of objectsOf(file.companies)) if (company.companyId) company.companyId = randomUUID()
    }),
  ),
  broken('mapping/stored', 'a mapping is not stored', () =>
    companies('BulkGetCompanyCalculators', ({ fields }) => {
      if (isObject(fields)) delete fields[catalogue.customIdentifierId]
    }),
  ),
  broken('mapping/stored', 'what matches nothing counts as mapped', () =>
    files(null, (file) => {
      for (const company of objectsOf(file.companies)) company.status = 'Mapped'
    }),
  ),
  broken('mapping/stored', 'answers under the id alone are dropped in silence', (year) =>
    withoutMonths(year, 'January', 'March'),
  ),
  broken('mapping/stored', 'answers under the id alone fail', () => ({
    pass: ({ path, asked }) => (path.endsWith('/framework-answers/upsert') ? valuesOfNobody(asked()) : undefined),
  })),

  broken('answers/framework', 'the framework is not assigned', (year) =>
    periods(year, (period) => void delete period.frameworkIds),
  ),
  broken('answers/framework', 'the framework is assigned for the first period alone', (year) =>
    periods(year, (period) => {
      if (period.month !== 'January') delete period.frameworkIds
    }),
  ),
  broken('answers/entry', 'an entry that names its company by id is not stored', (year) =>
    withoutMonths(year, 'July', 'October'),
  ),
  broken('answers/entry', 'an entry that names its company by a value is not stored', (year) =>
    withoutMonths(year, 'January', 'March'),
  ),
  broken('answers/periods', 'one period comes back twice', (year) =>
    periods(year, (period, company) => {
      if (period.month === 'January') company.periods = [...objectsOf(company.periods), { ...period }]
    }),
  ),
  broken('answers/periods', 'two periods come back as one', (year) =>
    companies('BulkGetFrameworkAnswers', (company) => {
      const ofYear = objectsOf(company.periods).filter((period) => period.year === year)
      const [january, march] = ['January', 'March'].map((month) => ofYear.find((period) => period.month === month))
      if (!january || !march) return
      january.answers = [...objectsOf(january.answers), ...objectsOf(march.answers)]
      company.periods = objectsOf(company.periods).filter((period) => period !== march)
    }),
  ),
  broken('answers/yearly', 'a yearly period begins in January, whatever it was sent with', (year) =>
    periods(year, (period) => {
      if (period.periodType === 'Yearly') period.month = 'January'
    }),
  ),
  broken('answers/yearly', 'a yearly period without a start month begins in April', (year) =>
    periods(year, (period) => {
      if (period.month === 'January') period.month = 'April'
    }),
  ),
  broken('answers/monthly', 'a monthly period comes back without its month', (year) =>
    periods(year, (period) => {
      if (period.periodType === 'Monthly') delete period.month
    }),
  ),
  broken('answers/both', 'a period with answers loses its omissions', (year) =>
    periods(year, (period) => {
      if (objectsOf(period.answers).length > 0) delete period.omissions
    }),
  ),
  broken('answers/both', 'a period with omissions loses its answers', (year) =>
    periods(year, (period) => {
      if (objectsOf(period.omissions).length > 0) delete period.answers
    }),
  ),
  broken('answers/typed', 'an answer of one type is lost', (year) =>
    periods(year, (period) => {
      if (period.month === 'January') period.answers = objectsOf(period.answers).slice(1)
    }),
  ),
  broken('answers/typed', 'a number is kept as a text', (year) =>
    answersOf(year, (answer) => {
      const number = at(answer.answer, 'number')
      if (number !== undefined) answer.answer = { text: JSON.stringify(number) }
    }),
  ),
  broken('answers/typed', 'a list carries titles of options', (year) =>
    answersOf(year, (answer) => {
      if (at(answer.answer, 'list') !== undefined) answer.answer = { list: ['Solar'] }
    }),
  ),
  broken('answers/typed', 'an answer is in another unit', (year) =>
    answersOf(year, (answer) => {
      if (answer.unitId) answer.unitId = randomUUID()
    }),
  ),
  broken('answers/omission', 'an omission that was sent with a framework is not stored', (year) =>
    periods(year, (period) => {
      if (period.month === 'January' || period.month === 'July') delete period.omissions
    }),
  ),
  broken('answers/omission', 'an omission that was sent without a framework is not stored', () => ({
    pass: ({ path, asked }) => {
      const body = asked()
      if (!path.endsWith('/framework-answers/upsert') || at(body, 'frameworkId') !== undefined) return undefined
      return withoutOmissions(body)
    },
  })),
  broken('answers/omission', 'an omission comes back without its question', (year) =>
    periods(year, (period) => {
      for (const omission of objectsOf(period.omissions)) delete omission.questionId
    }),
  ),
]

function answersOf(year: number, change: (answer: Json) => void): Hooks {
  return periods(year, (period) => {
    for (const answer of objectsOf(period.answers)) change(answer)
  })
}

/** Entries that name their company by a value name nobody. */
function valuesOfNobody(body: unknown): Json {
  const companies = objectsOf(at(body, 'companies')).map((entry) => {
    const property = at(entry, 'identifiedBy', 'customProperty')
    if (!isObject(property)) return entry
    return { ...entry, identifiedBy: { customProperty: { ...property, value: 'nobody' } } }
  })
  return { ...(body as Json), companies }
}

function withoutOmissions(body: unknown): Json {
  const companies = objectsOf(at(body, 'companies')).map((entry) => ({
    ...entry,
    periods: objectsOf(entry.periods).map((period) => ({ ...period, omissions: [] })),
  }))
  return { ...(body as Json), companies }
}
