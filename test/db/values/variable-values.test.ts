import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { pictureOf, type VariableQuestion } from '../../../src/db/values/variable-values.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, samplePage, uuid } from '../../pipeline/pull/sample-page.ts'
import { searchDatabase } from '../../pipeline/pull/search-database.ts'

const database = await searchDatabase()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => emptyTables(database.db, pulledTables, true))

/** A hotel with a calculator of each of two types in 2025, and in 2024, that hold these. */
const hotel = (name: string, now: string[], before: string[] = []) =>
  company(name, {
    calculators: [now, before].flatMap((values, ago) =>
      values.map((value, type) =>
        calculator(`${name} ${type} ${ago}`, {
          typeId: uuid(`type ${type}`),
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
