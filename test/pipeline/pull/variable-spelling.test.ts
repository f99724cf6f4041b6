import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { calculator, company, type SamplePage, samplePage, uuid } from './sample-page.ts'
import { bothWays, openNights } from './search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

const power = uuid('power')
const POWER = power.toUpperCase()

const hotel = (name: string, inputs: Record<string, string>) =>
  company(name, { calculators: [calculator(name, { inputs, outputs: {} })] })
const variables = async () =>
  (await db.selectFrom('calculator_variable').select('variable_id').orderBy('variable_id').execute()).map(
    ({ variable_id }) => variable_id,
  )
const left = async () => (await sql`select item, reason from quarantine order by 2, 1`.execute(db)).rows
const values = async () =>
  ((await known()).values as { variable_id: string; value: string }[]).map(
    ({ variable_id, value }) => `${variable_id} ${value}`,
  )

/** A page of these companies that names every variable alike. */
const page = (...hotels: Parameters<typeof samplePage>[0]): SamplePage => {
  const made = samplePage(hotels)
  return {
    ...made,
    calculatorVariables: made.calculatorVariables?.map(({ id }) => ({ id, name: 'Electricity' })) ?? [],
  }
}

describe.each(bothWays)('an id in another spelling, on a page loaded %s,', (_, how) => {
  it('names the variable that is known, of companies that are known and new', async () => {
    await night([page(hotel('A', { [power]: '1' }), hotel('B', { [power]: '3' }))], how)
    const before = await known()
    const { finished } = await night([page(hotel('A', { [POWER]: '1' }), hotel('B', { [power]: '3' }))], how)
    expect(finished).toMatchObject({ withheld: false })
    expect(await known()).toEqual(before)
    // The list spells it otherwise than the values do.
    const listed = page(hotel('A', { [POWER]: '1' }), hotel('B', { [power]: '3' }), hotel('C', { [power]: '4' }))
    await night([{ ...listed, calculatorVariables: [{ id: POWER, name: 'Electricity' }] }], how)
    expect((await values()).sort()).toEqual([`${power} 1`, `${power} 3`, `${power} 4`])
    expect(await variables()).toEqual([power])
    expect(await marks()).toEqual([])
    expect(await left()).toEqual([])
  })

  it('makes one row with the other where a page brings both for the first time', async () => {
    await night([page(hotel('A', { [power]: '1' }), hotel('B', { [POWER]: '2' }))], how)
    expect(await variables()).toHaveLength(1)
    expect(await values()).toHaveLength(2)
  })

  it('goes on as a row of its own where pages before made it one', async () => {
    await sql`insert into calculator_variable (variable_id, name) values (${power}, 'p'), (${POWER}, 'P')`.execute(db)
    for (const _again of [1, 2]) {
      await night([samplePage([hotel('A', { [power]: '1', [POWER]: '2' }), hotel('B', { [POWER]: '3' })])], how)
    }
    expect((await values()).sort()).toEqual([`${power} 1`, `${POWER} 2`, `${POWER} 3`].sort())
    expect(await left()).toEqual([])
  })

  it('takes the place of the value under another row, which is not brought back beside it', async () => {
    await sql`insert into calculator_variable (variable_id, name) values (${power}, 'p'), (${POWER}, 'P')`.execute(db)
    const restored = () => db.transaction().execute((trx) => restoreRemoved(trx, {}))
    const careless = { ...how, minSeenShare: 0 }
    await night([page(hotel('A', { [power]: '1' }))], careless)
    await night([page(hotel('A', { [POWER]: '1' }))], careless)
    expect(await restored()).toMatchObject({ values: 0 })
    expect(await values()).toEqual([`${POWER} 1`])
    // Nor does it come with it, when both are gone.
    await night([page(hotel('A', {}))], careless)
    expect(await restored()).toMatchObject({ values: 1 })
    expect(await values()).toEqual([`${POWER} 1`])
  })

  it('counts as unlisted where neither it nor the row that pages before made of the other spelling is listed', async () => {
    await sql`insert into calculator_variable (variable_id, name) values (${power}, 'p'), (${POWER}, 'P')`.execute(db)
    const given = page(hotel('A', { [POWER]: '1' }), hotel('B', { e: '1' }))
    const listing = (...ids: string[]) => ({
      ...given,
      calculatorVariables: ids.map((id) => ({ id, name: 'Electricity' })),
    })
    await night([listing(power, 'e')], how)
    expect(await left()).toEqual([])
    await night([listing('e')], how)
    expect(await left()).toEqual([{ item: POWER, reason: 'variable_not_listed' }])
  })

  it('stays out where its calculator gives the variable twice, every night the same one', async () => {
    for (const value of ['1', '2']) {
      await night([page(hotel('A', { [power]: value, [POWER]: '5' }), hotel('B', { [power]: '3' }))], how)
      expect((await values()).map((line) => line.slice(-1)).sort()).toEqual(['3', '5'])
    }
    expect(await left()).toEqual(Array(2).fill({ item: power, reason: 'variable_twice' }))
  })

  it('names another variable where it is no UUID', async () => {
    await night([page(hotel('A', { power: '1', POWER: '2' }))], how)
    expect((await values()).sort()).toEqual(['POWER 2', 'power 1'])
  })
})
