import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { PageFormatError } from '../../src/pipeline/reading/page-limits.ts'
import { bodyOf, calculator, company, samplePage } from '../pipeline/pull/sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../pipeline/pull/search-database.ts'
import {
  type Json,
  type Known,
  lostAgainstTheRules,
  partsOf,
  withDamage,
} from '../pipeline/pull/well-formed-absence.ts'

const fast: SearchDatabase = await searchDatabase()
const careful: SearchDatabase = await searchDatabase()
afterAll(async () => {
  await fast[Symbol.asyncDispose]()
  await careful[Symbol.asyncDispose]()
})

const whole = samplePage(
  Array.from({ length: 5 }, (_, index) =>
    company(`hotel ${index}`, {
      fields: { brand: [`brand ${index}`, 'second', 'third'], rooms: [`${index + 10}`] },
      calculators: [
        calculator(`k${index}/0`, {
          inputs: { power: `${index}.5`, gas: '7' },
          outputs: { total: `${index}`, share: '1' },
        }),
        calculator(`k${index}/1`, { period: { year: 2024 }, inputs: { water: '2' } }),
      ],
    }),
  ),
) as unknown as Json

/** Removes, nulls and mistypes parts, wherever they are: `at` is the place among all parts of the page. */
const damages = fc.array(
  fc.record({
    at: fc.nat(),
    become: fc.constantFrom<Json | undefined>(undefined, undefined, null, 5, 'x', '', ' ', true, [], {}, [null], {
      id: 5,
    }),
  }),
  { minLength: 1, maxLength: 8 },
)

const night = fc.record({ damages, minSeenShare: fc.constantFrom(0, 0, 0.5) })

it('whatever part of a page is removed, null or of another type, nothing known is lost but by a well-formed absence', {
  timeout: 600_000,
}, async () => {
  const lost = { byTheRules: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(night, async ({ damages: list, minSeenShare }) => {
      const page = list.reduce<Json>((damaged, { at, become }) => withDamage(damaged, at, become), whole)
      const quickly = await twoNights(fast, page, {}, minSeenShare)
      const slowly = await twoNights(careful, page, { careful: true, reading: 'tokens' }, minSeenShare)
      expect(quickly).toEqual(slowly)
      const { before, after, refused } = quickly
      expect(lostAgainstTheRules(before, after, refused ? whole : page)).toEqual([])
      if (after.values.length < before.values.length) lost.byTheRules++
      if (refused) lost.refused++
    }),
    { numRuns: Number(process.env.LOSS_RUNS ?? 25) },
  )
  // Damage that never takes anything away, or always refuses the page, would prove nothing.
  expect(lost.byTheRules).toBeGreaterThan(0)
  expect(lost.refused).toBeLessThan(Number(process.env.LOSS_RUNS ?? 25) / 2)
})

it('the damage of a page reaches every part of it', () => {
  const parts = partsOf(whole).map((path) => path.join('.'))
  for (const part of [
    'calculatorVariables',
    'customProperties.1.name',
    'companies.2.fields.brand.1',
    'companies.0.calculators.1.period.year',
    'companies.4.calculators.0.inputs.gas',
  ]) {
    expect(parts).toContain(part)
  }
})

type How = Parameters<SearchDatabase['load']>[2]

/** A night on which all is right, then one of the page; what was known before it and after it. */
async function twoNights(database: SearchDatabase, page: Json, how: How, minSeenShare: number) {
  await load(database, whole, how, 0)
  const { rows: marked } = await sql`select * from not_renewed`.execute(database.db)
  expect(marked).toEqual([])
  const before = await known(database)
  expect([before.values, before.properties, before.calculators].map((rows) => rows.length)).toEqual([30, 20, 10])
  const refused = await load(database, page, how, minSeenShare)
  return { before, after: await known(database), refused }
}

/** @returns whether the page was refused. */
async function load(database: SearchDatabase, page: Json, how: How, minSeenShare: number): Promise<boolean> {
  const [listed] = await database.search()
  if (listed === undefined) throw new Error('no page was listed')
  let refused = false
  try {
    await database.load(listed, bodyOf(page), { ...how, minSeenShare })
  } catch (error) {
    if (!(error instanceof PageFormatError)) throw error
    refused = true
  }
  await database.finish(listed.submission_id, { minSeenShare })
  return refused
}

async function known({ db }: SearchDatabase): Promise<Known> {
  const { rows: companies } = await sql<Known['companies'][number]>`
    select company_id, name from companies where removed_at is null order by 1`.execute(db)
  const { rows: calculators } = await sql<Known['calculators'][number]>`
    select calculator_id, company_id, title, period_year, period_month from calculators
    where removed_at is null order by 1`.execute(db)
  const { rows: values } = await sql<Known['values'][number]>`
    select calculator_id, company_id, direction, variable_id, variable_name, value from calculator_values
    order by 1, 3, 4`.execute(db)
  const { rows: properties } = await sql<Known['properties'][number]>`
    select company_id, property_id, property_name, ordinal, value from company_properties order by 1, 2, 4`.execute(db)
  return { companies, calculators, values, properties }
}
