import { sql } from 'kysely'
import type { FinishOptions } from '../../../src/pipeline/pull/search/whole-search.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SamplePage, samplePage } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

type How = Parameters<SearchDatabase['load']>[2]

/** Both ways to load a page, in words. */
export const bothWays: [string, How][] = [
  ['fast', {}],
  ['with care', { careful: true, reading: 'tokens' }],
]

export type Mark = { part: string; reason: string; withheld: boolean; parts: number }

/** Nights of searches in a database of their own, and what people see of what they left. */
export async function openNights() {
  const database = await searchDatabase()
  const { db } = database

  /** A search of these pages, loaded and ended. */
  async function night(pages: readonly unknown[], how: How = {}, finish: FinishOptions = {}) {
    const listed = await database.search(pages.length)
    const counts = []
    for (const [index, page] of listed.entries()) counts.push(await database.load(page, bodyOf(pages[index]), how))
    return { counts, finished: await database.finish(listed[0]?.submission_id ?? 0, finish), listed }
  }

  /** All that is known, as people see it. */
  async function known() {
    const { rows: values } = await sql`
      select calculator_id, company_id, direction, variable_id, variable_name, value from calculator_values
      order by 1, 3, 4`.execute(db)
    const { rows: properties } = await sql`
      select company_id, property_id, property_name, ordinal, value from company_properties order by 1, 2, 4`.execute(
      db,
    )
    const { rows: calculators } = await sql`
      select calculator_id, company_id, title, period_year, period_month, removed_at is null as here from calculators
      order by 1`.execute(db)
    const { rows: companies } = await sql`
      select company_id, name, removed_at is null as here from companies order by 1`.execute(db)
    return { values, properties, calculators, companies }
  }

  /** What is marked as not renewed, by part and reason. */
  async function marks(): Promise<Mark[]> {
    const { rows } = await sql<Mark>`
      select part, reason, withheld, count(*) as parts from not_renewed group by 1, 2, 3 order by 1, 2`.execute(db)
    return rows
  }

  /** Takes out what earlier nights left. */
  const clear = () => emptyTables(db, searchTables, true)
  return { database, db, night, known, marks, clear }
}

const searchTables = [...pulledTables, 'page_listing']

/** Companies with three property values, two calculators and five values each. */
export const hotels = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    company(`hotel ${index}`, {
      fields: { brand: [`brand ${index}`, 'second'], rooms: [`${index + 10}`] },
      calculators: [
        calculator(`k${index}/2025`, {
          inputs: { electricity: `${index}.5`, gas: '7' },
          outputs: { total: `${index}` },
        }),
        calculator(`k${index}/2024`, { period: { year: 2024 } }),
      ],
    }),
  )

/** Eight of them on two pages. */
export const whole = (): SamplePage[] => [samplePage(hotels(4)), samplePage(hotels(8).slice(4))]

/** Every value of the page made into something else; undefined leaves it out. */
export function everyValue(page: SamplePage, value: unknown): unknown {
  const changed = (group: Record<string, string> | undefined) =>
    group && Object.fromEntries(Object.keys(group).map((id) => [id, value]))
  return {
    ...page,
    companies: page.companies.map((one) => ({
      ...one,
      calculators: one.calculators.map((k) => ({ ...k, inputs: changed(k.inputs), outputs: changed(k.outputs) })),
    })),
  }
}

/** Members of every company replaced; undefined leaves them out. */
export const everyCompany = (page: SamplePage, over: object) => ({
  ...page,
  companies: page.companies.map((one) => ({ ...one, ...over })),
})

/** Members of every calculator replaced; undefined leaves them out. */
export const everyCalculator = (page: SamplePage, over: object) => ({
  ...page,
  companies: page.companies.map((one) => ({
    ...one,
    calculators: one.calculators.map((k) => ({ ...k, ...over })),
  })),
})
