import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { nameChanges } from '../../../src/db/runs/search-reports.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { bodyOf, company, samplePage } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(
    db,
    [
      'company',
      'custom_property',
      'calculator_variable',
      'calculator',
      'calculator_value',
      'name_change',
      'search_seen_company',
      'search_seen_calculator',
    ],
    true,
  )
})

/** A page that names its variables and properties so. */
function named(name: (id: string) => string) {
  const page = samplePage([company('A', { fields: { brand: ['X'] } })])
  const again = (list: { id: string }[] | undefined) => list?.map(({ id }) => ({ id, name: name(id) }))
  return {
    ...page,
    calculatorVariables: again(page.calculatorVariables),
    customProperties: again(page.customProperties),
  }
}

async function load(...pages: unknown[]) {
  const listed = await database.search(pages.length)
  for (const [index, page] of listed.entries()) await database.load(page, bodyOf(pages[index]))
  return listed
}

const traces = async () =>
  (await db.selectFrom('name_changes').selectAll().orderBy('kind').orderBy('change_id').execute()).map(
    ({ kind, id, before, after }) => `${kind} ${id}: ${before} > ${after}`,
  )

describe('a name', () => {
  it('leaves no trace when it is seen for the first time, or again', async () => {
    await load(named((id) => id))
    await load(named((id) => id))
    expect(await traces()).toEqual([])
  })

  it('leaves no trace where the row was there and had none yet', async () => {
    await sql`insert into calculator_variable (variable_id, name) values ('total', null)`.execute(db)
    await load(named((id) => id))
    expect(await traces()).toEqual([])
    expect(await db.selectFrom('calculator_variables').select('name').orderBy('name').execute()).toEqual([
      { name: 'electricity' },
      { name: 'total' },
    ])
  })

  it('a name that is new leaves a trace of the old one, with its page, and shows in the views', async () => {
    await load(named((id) => id))
    const [page] = await load(named((id) => (id === 'electricity' ? id : `new ${id}`)))
    expect(await traces()).toEqual(['property brand: brand > new brand', 'variable total: total > new total'])
    expect(await db.selectFrom('name_change').select('page_id').distinct().execute()).toEqual([
      { page_id: page?.page_id },
    ])
    const { rows } = await sql`
      select variable_name from calculator_values where variable_id = 'total'
      union all select property_name from company_properties`.execute(db)
    expect(rows).toEqual([{ variable_name: 'new total' }, { variable_name: 'new brand' }])
  })

  it('a name on which two pages of one search disagree is in the report as what it comes to', async () => {
    await load(named((id) => id))
    await load(
      named((id) => (id === 'brand' ? id : `first ${id}`)),
      named((id) => (id === 'total' ? 'second total' : id)),
    )
    const { run_id } = await db.selectFrom('run').select('run_id').executeTakeFirstOrThrow()
    expect(await traces()).toHaveLength(4)
    expect(await nameChanges(db, run_id)).toEqual([
      { kind: 'variable', id: 'total', before: 'total', after: 'second total' },
    ])
  })
})
