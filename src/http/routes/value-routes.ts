import { z } from 'zod'
import {
  hotelDocuments,
  hotelValues,
  listPeriods,
  listVariables,
  pictureOf,
  type VariableQuestion,
} from '../../db/values/variable-values.ts'
import { cacheOf } from '../answer-cache.ts'
import { Answer, cutAt, document, limit, moment, more, Plain, type Route, route } from '../route.ts'

/** A statement for people to copy, which shows the values of one variable as the page does. Pure. */
function variableSql({ variableId, direction, year, month }: VariableQuestion): string {
  // An input may be in several calculators of a hotel, and is one.
  const columns =
    direction === 'input'
      ? 'distinct companies.partner_id, companies.name, value, value_numeric'
      : 'companies.partner_id, companies.name, value'
  return `select ${columns}
from calculator_values join companies using (company_id)
where variable_id = ${quoted(variableId)} and direction = '${direction}'
  and period_year = ${year} and period_month is ${month === null ? 'null' : `not distinct from ${month}`}
order by value_numeric desc nulls last`
}

/** Nothing but a text, also in a client that reads backslashes. */
function quoted(text: string): string {
  const doubled = text.replaceAll("'", "''")
  return text.includes('\\') ? `E'${doubled.replaceAll('\\', '\\\\')}'` : `'${doubled}'`
}

const hotel = z.strictObject({ hotel: z.string().min(1).max(1_000).describe('The partner’s id.') })
const many = z.coerce.number().int().min(1).max(10_000).default(5_000).describe('How many at most.')
const few = z.coerce.number().int().min(1).max(100).default(20).describe('How many of each list at most.')
const number = z.string().nullable()

const extreme = z.object({
  partner_id: z.string().nullable(),
  company_id: z.string(),
  company_name: z.string().nullable(),
  value: z.string(),
  before: number,
})

/** Periods that can be chosen: those of more than seventy years, with their months. */
const periodsListed = 1_000

/** What reads a large part of the tables is answered when it has been computed; until then a caller is told so. */
const computing = z.object({ computing_since: moment.describe('Ask again in a second.') })

export const valueRoutes: readonly Route[] = [
  route({
    id: 'listHotelValues',
    method: 'GET',
    path: '/v1/hotels/{hotel}/values',
    summary:
      'What came back of one hotel: the values of its calculators, newest period first; texts over 1,000 characters are cut',
    access: 'read',
    params: hotel,
    query: z.strictObject({ limit: many }),
    answers: {
      200: z.object({
        values: z.array(
          z.object({
            calculator_id: z.string(),
            title: z.string().nullable(),
            period_year: z.number().int(),
            period_month: z.number().int().nullable(),
            direction: z.string(),
            variable_id: z.string(),
            variable_name: z.string().nullable(),
            value: z.string(),
            not_renewed_since: moment.nullable(),
          }),
        ),
        more,
      }),
    },
    handle: async ({ db }, { params, query }) => {
      const found = cutAt(await hotelValues(db, params.hotel, query.limit + 1), query.limit)
      return { values: found.rows, more: found.more }
    },
  }),
  route({
    id: 'listHotelDocuments',
    method: 'GET',
    path: '/v1/hotels/{hotel}/documents',
    summary: 'The documents of `pull.searches` that name one hotel’s company',
    access: 'read',
    params: hotel,
    query: z.strictObject({ limit: few }),
    answers: {
      200: z.object({
        documents: z.array(
          z.object({
            search: z.string(),
            list: z.string(),
            document_id: z.string(),
            document,
            first_seen_at: moment,
            changed_at: moment,
            removed_at: moment.nullable(),
          }),
        ),
        more,
      }),
    },
    handle: async ({ db, deps }, { params, query }) => {
      const { companiesPage, standardHoldersPage, frameworkAnswersPage } = deps.contract.names
      const members = [companiesPage.id, standardHoldersPage.companyId, frameworkAnswersPage.id]
      const named = await hotelDocuments(db, params.hotel, [...new Set(members)], query.limit + 1)
      const found = cutAt(named, query.limit)
      // Parsed and written again, numbers would lose digits.
      const documents = found.rows.map(({ document: text, ...row }) => ({ row: JSON.stringify(row), text }))
      const written = documents.map(({ row, text }) => `${row.slice(0, -1)},"document":${text}}`)
      return new Plain('application/json; charset=utf-8', `{"documents":[${written.join()}],"more":${found.more}}`)
    },
  }),
  route({
    id: 'listVariables',
    method: 'GET',
    path: '/v1/variables',
    summary: 'The variables of calculators by name, and the periods that there are',
    access: 'read',
    query: z.strictObject({ limit }),
    answers: {
      200: z.object({
        variables: z.array(z.object({ variable_id: z.string(), name: z.string().nullable() })),
        more,
        periods: z.array(z.object({ year: z.number().int(), month: z.number().int().nullable() })),
        more_periods: z.boolean().describe('There are older periods than are given.'),
        as_of: moment,
      }),
      202: computing,
    },
    handle: async (context, { query }) => {
      const { db, deps } = context
      const periods = await cacheOf(context).soon('periods', deps.now(), () => listPeriods(db, periodsListed + 1))
      if (periods.computingSince !== null) return new Answer(202, { computing_since: periods.computingSince })
      const found = cutAt(await listVariables(db, query.limit + 1), query.limit)
      const listed = cutAt(periods.answer, periodsListed)
      return {
        variables: found.rows,
        more: found.more,
        periods: listed.rows,
        more_periods: listed.more,
        as_of: periods.asOf,
      }
    },
  }),
  route({
    id: 'getVariable',
    method: 'GET',
    path: '/v1/variables/{variable}',
    summary: 'One variable over all hotels: its distribution, the highest and lowest, and who has none',
    access: 'read',
    params: z.strictObject({ variable: z.string().min(1).max(200) }),
    query: z.strictObject({
      direction: z.enum(['input', 'output']).default('output'),
      year: z.coerce.number().int().min(1).max(9_999),
      month: z.coerce.number().int().min(1).max(12).optional().describe('Left out: the yearly values.'),
      limit: few,
    }),
    answers: {
      200: z.object({
        values: z.number().int(),
        hotels: z.number().int(),
        texts: z.number().int().describe('Values that are no number.'),
        differing: z
          .number()
          .int()
          .describe('Hotels whose calculators hold different values of the input: they are in no figure.'),
        lowest: number,
        quarter: number,
        median: number,
        three_quarters: number,
        highest: number,
        sum: number,
        both_hotels: z.number().int().describe('Hotels with a number in this year and in the one before.'),
        both_sum: number,
        both_before: number,
        missing: z.number().int(),
        bars: z.array(z.object({ from: z.string(), to: z.string(), values: z.number().int() })),
        highest_hotels: z.array(extreme),
        lowest_hotels: z.array(extreme),
        missing_hotels: z.array(z.string()),
        sql: z.string().describe('A query that shows the same values, to copy.'),
        as_of: moment.describe('When it was computed. After five minutes it is computed again, at the next request.'),
      }),
      202: computing,
    },
    handle: async (context, { params, query }) => {
      const { db, deps } = context
      const month = query.month ?? null
      const question = { variableId: params.variable, direction: query.direction, year: query.year, month }
      const key = JSON.stringify([question, query.limit])
      const picture = await cacheOf(context).soon(key, deps.now(), () => pictureOf(db, question, query.limit))
      if (picture.computingSince !== null) return new Answer(202, { computing_since: picture.computingSince })
      return { ...picture.answer, sql: variableSql(question), as_of: picture.asOf }
    },
  }),
]
