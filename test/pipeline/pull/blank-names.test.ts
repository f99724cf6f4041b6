import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { calculator, company, samplePage } from './sample-page.ts'
import { bothWays, openNights } from './search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

const hotel = (name: string, value: string) =>
  company(name, {
    fields: { rooms: [value] },
    calculators: [calculator(name, { inputs: { gas: value }, outputs: {} })],
  })

/** A page that lists everything, and names nothing that it lists as it should. */
const page = (name: object, ...hotels: ReturnType<typeof hotel>[]) => ({
  companies: hotels,
  calculatorVariables: [{ id: 'gas', ...name }],
  customProperties: [{ id: 'rooms', ...name }],
})

const quarantine = async () => (await sql`select unit, item, reason from quarantine order by 1`.execute(db)).rows
const values = async () => {
  const { values: ofCalculators, properties } = await known()
  return [...ofCalculators, ...properties].map((row) => {
    const { variable_name, property_name = variable_name, value } = row as Record<string, string | null>
    return `${property_name} ${value}`
  })
}

describe.each(bothWays)('a name that cannot be read, on a page loaded %s,', (way, how) => {
  it.each([
    ['blank', { name: ' ' }],
    ['missing', {}],
    ['no_text', { name: null }],
  ])('costs no value where it is %s', async (reason, name) => {
    await night([samplePage([hotel('A', '10'), hotel('B', '20')])], how)
    const { counts } = await night([page(name, hotel('A', '12'), hotel('B', '20'), hotel('C', '7'))], how)
    expect(counts).toMatchObject([{ care: way === 'fast' ? null : 'asked' }])
    expect((await values()).sort()).toEqual(
      ['gas', 'rooms'].flatMap((id) => ['12', '20', '7'].map((value) => `name of ${id} ${value}`)),
    )
    expect(await quarantine()).toEqual([
      { unit: 'property_name', item: 'rooms', reason },
      { unit: 'variable_name', item: 'gas', reason },
    ])
    expect(await marks()).toEqual([
      { part: 'property_name', reason, withheld: false, parts: 1 },
      { part: 'variable_name', reason, withheld: false, parts: 1 },
    ])
    await night([samplePage([hotel('A', '12'), hotel('B', '20'), hotel('C', '7')])], how)
    expect(await marks()).toEqual([])
  })

  it('leaves what nobody has named without a name until a page gives one', async () => {
    await night([page({ name: '' }, hotel('A', '1'))], how)
    expect(await values()).toEqual(['null 1', 'null 1'])
    expect(await marks()).toEqual([])
    await night([page({ name: 'Named' }, hotel('A', '1'))], how)
    expect(await values()).toEqual(['Named 1', 'Named 1'])
    expect((await sql`select from name_change`.execute(db)).rows).toEqual([])
  })

  it('gives way to one of the same list that can be read', async () => {
    const listed = (id: string) => [{ id }, { id, name: 'first' }, { id, name: 'second' }]
    const twice = {
      ...page({}, hotel('A', '1')),
      calculatorVariables: listed('gas'),
      customProperties: listed('rooms'),
    }
    await night([twice], how)
    expect(await values()).toEqual(['first 1', 'first 1'])
    expect(await marks()).toEqual([])
    expect(await quarantine()).toEqual(
      expect.arrayContaining(
        ['missing', 'listed_twice'].flatMap((reason) => [
          { unit: 'property_name', item: 'rooms', reason },
          { unit: 'variable_name', item: 'gas', reason },
        ]),
      ),
    )
  })
})
