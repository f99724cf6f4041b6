import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { pictureOf, type VariableQuestion } from '../../../src/db/values/variable-values.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, samplePage, uuid } from '../../pipeline/pull/sample-page.ts'
import { searchDatabase } from '../../pipeline/pull/search-database.ts'

const database = await searchDatabase()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => emptyTables(database.db, pulledTables, true))

/** A hotel with a calculator of each of two types in 2025, and in 2024, that hold these; or all of one type. */
const hotel = (name: string, now: string[], before: string[] = [], types: 'each' | 'one' = 'each') =>
  company(name, {
    calculators: [now, before].flatMap((values, ago) =>
      values.map((value, type) =>
        calculator(`${name} ${type} ${ago}`, {
          typeId: uuid(`type ${types === 'each' ? type : 0}`),
          period: { year: 2025 - ago },
          inputs: { power: value },
          outputs: { power: value },
        }),
      ),
    ),
  })

async function picture(direction: VariableQuestion['direction'], ...hotels: ReturnType<typeof hotel>[]) {
  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  await database.load(page, bodyOf(samplePage(hotels)))
  return await pictureOf(database.db, { variableId: 'power', direction, year: 2025, month: null }, 5)
}

describe('an input', () => {
  it('counts once for a hotel whose calculators agree, this year and the year before', async () => {
    const found = await picture('input', hotel('A', ['10', '10'], ['8', '8.0']), hotel('B', ['5'], ['4', '4']))
    expect(found).toMatchObject({ values: 2, hotels: 2, sum: '15', both_hotels: 2, both_sum: '15', both_before: '12' })
    expect(found.highest_hotels).toMatchObject([
      { company_name: 'A', value: '10', before: '8' },
      { company_name: 'B', value: '5', before: '4' },
    ])
  })

  it('counts once where it is written in two ways', async () => {
    expect(await picture('input', hotel('A', ['1.50', '1.5']))).toMatchObject({ values: 1, texts: 0, median: '1.5' })
  })

  it('stays out of every figure where the calculators of a hotel differ, which is counted', async () => {
    const found = await picture('input', hotel('A', ['10', '11'], ['8', '8']), hotel('B', ['5'], ['4', '3']))
    expect(found).toMatchObject({
      values: 2,
      hotels: 2,
      differing: 1,
      texts: 0,
      sum: '5',
      highest: '5',
      both_hotels: 0,
    })
    expect(found.highest_hotels).toMatchObject([{ company_name: 'B', value: '5', before: null }])
  })

  it('differs where one calculator holds a number and another none, and is a text where both hold the same', async () => {
    const found = await picture('input', hotel('A', ['10', 'many']), hotel('B', ['few', 'few']))
    expect(found).toMatchObject({ values: 2, differing: 1, texts: 1, sum: null })
  })
})

it('an output counts for every calculator that computed it', async () => {
  const found = await picture('output', hotel('A', ['10', '11'], ['8', '8']))
  expect(found).toMatchObject({ values: 2, hotels: 1, differing: 0, sum: '21', both_before: '16' })
})

describe('an output', () => {
  it('stands beside that of the year before of the calculator of its type', async () => {
    const found = await picture('output', hotel('A', ['10', '11'], ['7', '8']), hotel('B', ['5', '6'], ['4']))
    expect(found.highest_hotels).toMatchObject([
      { company_name: 'A', value: '11', before: '8' },
      { company_name: 'A', value: '10', before: '7' },
      { company_name: 'B', value: '6', before: null },
      { company_name: 'B', value: '5', before: '4' },
    ])
    expect(found.lowest_hotels).toMatchObject([{ before: '4' }, { before: null }, { before: '7' }, { before: '8' }])
  })

  it.each([
    ['this year', ['10', '11'], ['8']],
    ['the year before', ['10'], ['7', '8']],
    ['the year before, one of which has a text', ['10'], ['7', 'few']],
  ])('stands beside none where its type has several calculators %s', async (_when, now, before) => {
    const found = await picture('output', hotel('A', now, before, 'one'))
    expect(new Set(found.highest_hotels.map((one) => one.before))).toEqual(new Set([null]))
  })
})

it('a hotel at an end, or with a value that nobody sent, is named by the partner id that the partner has, whichever was mapped last', async () => {
  const { db } = database
  await picture('output', hotel('A', ['10']))
  const { rows } = await sql<{ company_id: string }>`select company_id from company`.execute(db)
  await sql`
    insert into mapping (partner_id, company_id, submission_id, mapped_at)
    select partner_id, ${rows[0]?.company_id}, (select min(submission_id) from submission), mapped_at::timestamptz
    from (values ('H-1', '2026-01-01'), ('H-2', '2026-01-02'), ('X-1', '2026-01-03'), ('Z-1', '2026-01-04'))
      as known(partner_id, mapped_at)`.execute(db)
  await sql`
    insert into source_row (stream, partner_id, row_key, content, desired_hash, gone_at)
    select 'properties', id, id, '{}', '\\x01', case when id > 'H-2' then now() end
    from unnest(array['H-1', 'H-2', 'X-1']) id`.execute(db)
  await sql`
    insert into input_difference (kind, company_id, period_year, variable_id, stored, found_by_run, found_at)
    select 'foreign', ${rows[0]?.company_id}, 2025, 'power', '1', min(run_id), now() from run`.execute(db)
  const { highest_hotels } = await pictureOf(
    db,
    { variableId: 'power', direction: 'output', year: 2025, month: null },
    5,
  )
  expect(highest_hotels).toMatchObject([{ partner_id: 'H-2', company_name: 'A' }])
  const shown = async () =>
    (await sql`select partner_id from companies union all select partner_id from input_differences`.execute(db)).rows
  expect(await shown()).toEqual([{ partner_id: 'H-2' }, { partner_id: 'H-2' }])
  await sql`update source_row set gone_at = now()`.execute(db)
  expect(await shown(), 'none is there any more').toEqual([{ partner_id: 'Z-1' }, { partner_id: 'Z-1' }])
  await sql`delete from input_difference`.execute(db)
  await sql`delete from mapping`.execute(db)
  await sql`delete from source_row`.execute(db)
})
