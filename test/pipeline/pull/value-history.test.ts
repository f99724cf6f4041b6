import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { removeOld } from '../../../src/db/housekeeping/remove-old.ts'
import { shortId as id, openHistory } from './history-nights.ts'
import { calculator, company, uuid } from './sample-page.ts'

const { database, db, night, clock, history, changes, clear } = await openHistory()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

const hotel = (name: string, inputs: Record<string, string>, k = 'k') =>
  company(name, { calculators: [calculator(k, { inputs, outputs: {} })] })

describe('a search that records', () => {
  it('writes no change for what is new as a whole, and says of each value when it was first and last seen', async () => {
    await night([[hotel('A', { gas: '1' }), hotel('B', { gas: '2' }, 'kb')]])
    await night([[hotel('A', { gas: '1' }), hotel('B', { gas: '2' }, 'kb'), hotel('C', { gas: '3' }, 'kc')]])
    expect(await changes()).toEqual([])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 1-2 stands`,
      `B ${id('kb')} gas=2 1-2 stands`,
      `C ${id('kc')} gas=3 2-2 stands`,
    ])
  })

  it('shows a value that changed, one that came, one that went, and one that came back', async () => {
    await night([[hotel('A', { gas: '1', water: '5' })]])
    await night([[hotel('A', { gas: '2', water: '5' })]])
    await night([[hotel('A', { gas: '2', oil: '9' })]])
    await night([[hotel('A', { gas: '2', oil: '9', water: '5' })]])
    expect(await changes()).toEqual([
      '2 A gas changed 1>2',
      '3 A water removed 5>',
      '3 A oil added >9',
      '4 A water added >5',
    ])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 1-1 until 2`,
      `A ${id('k')} gas=2 2-4 stands`,
      `A ${id('k')} oil=9 3-4 stands`,
      `A ${id('k')} water=5 1-2 until 3`,
      `A ${id('k')} water=5 4-4 stands`,
    ])
  })

  it('ends the values of a company that is gone, and begins them again when it resurrects', async () => {
    await night([[hotel('A', { gas: '1' }), hotel('B', { gas: '2' }, 'kb')]])
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', { gas: '1' }), hotel('B', { gas: '2' }, 'kb')]])
    expect(await changes()).toEqual(['2 B gas removed 2>', '4 B gas added >2'])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 1-4 stands`,
      `B ${id('kb')} gas=2 1-1 until 2`,
      `B ${id('kb')} gas=2 4-4 stands`,
    ])
  })

  it('ends the values of a calculator that its company leaves out, and begins them again when it is back', async () => {
    const without = company('A', { calculators: [] })
    await night([[hotel('A', { gas: '1' })]])
    await night([[without]])
    await night([[hotel('A', { gas: '7' })]])
    expect(await changes()).toEqual(['2 A gas removed 1>', '3 A gas added >7'])
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 until 2`, `A ${id('k')} gas=7 3-3 stands`])
  })

  it('ends values under the company that a calculator leaves, and begins them under the one that it moves to', async () => {
    const empty = (name: string) => company(name, { calculators: [] })
    await night([[hotel('A', { gas: '1', oil: '3' }), empty('B')]])
    await night([[empty('A'), hotel('B', { gas: '2', oil: '3' })]])
    expect((await changes()).toSorted()).toEqual([
      '2 A gas removed 1>',
      '2 A oil removed 3>',
      '2 B gas added >2',
      '2 B oil added >3',
    ])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 1-1 until 2`,
      `A ${id('k')} oil=3 1-1 until 2`,
      `B ${id('k')} gas=2 2-2 stands`,
      `B ${id('k')} oil=3 2-2 stands`,
    ])
  })

  it('records what two pages of one search come to, and nothing where that is what stood', async () => {
    const both = [
      calculator('k', { inputs: { gas: '1' }, outputs: {} }),
      calculator('l', { inputs: { gas: '2' }, outputs: {} }),
    ]
    const [k, l] = both
    if (k === undefined || l === undefined) throw new Error('there are two')
    await night([[company('A', { calculators: both })]])
    await night([[company('A', { calculators: [k] })], [company('A', { calculators: [l] })]])
    expect(await changes()).toEqual([])
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-2 stands`, `A ${id('l')} gas=2 1-2 stands`].toSorted())
  })

  it('counts only complete searches of its type as having shown a value', async () => {
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', { gas: '1' })]], { finish: { partial: true } })
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 stands`])
    await night([[company('A', { calculators: [] })]], { finish: { calculatorTypeIds: [uuid('water')] } })
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 stands`])
    await night([[hotel('A', { gas: '1' })]], { finish: { calculatorTypeIds: [uuid('carbon')] } })
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-4 stands`])
  })

  it('says that a value brought by a search that proves nothing was last seen when it was first seen', async () => {
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', { gas: '2' })]], { finish: { partial: true } })
    await night([[hotel('A', { gas: '3' })]])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 1-1 until 2`,
      `A ${id('k')} gas=2 2-2 until 3`,
      `A ${id('k')} gas=3 3-3 stands`,
    ])
  })
})

describe('history', () => {
  it('history is empty, and nothing is recorded, while no search records', async () => {
    await night([[hotel('A', { gas: '1' })]], { history: false })
    await night([[hotel('A', { gas: '2' })]], { history: false })
    expect(await changes()).toEqual([])
    expect(await history()).toEqual([])
  })

  it('does not know since when a value stands that was there before it was switched on', async () => {
    await night([[hotel('A', { gas: '1', oil: '2' })]], { history: false })
    await night([[hotel('A', { gas: '1', oil: '2' })]])
    await night([[hotel('A', { gas: '1', oil: '3' }), hotel('B', { gas: '4' }, 'kb')]])
    expect(await history()).toEqual([
      `A ${id('k')} gas=1 ?-3 stands`,
      `A ${id('k')} oil=2 ?-2 until 3`,
      `A ${id('k')} oil=3 3-3 stands`,
      `B ${id('kb')} gas=4 3-3 stands`,
    ])
  })

  it('begins again after a search that did not record, and keeps the changes known before', async () => {
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', { gas: '2' })]])
    await night([[hotel('A', { gas: '3' })]], { history: false })
    expect(await history()).toEqual([])
    await night([[hotel('A', { gas: '3' })]])
    expect(await changes()).toEqual(['2 A gas changed 1>2'])
    expect(await history()).toEqual([`A ${id('k')} gas=3 ?-4 stands`])
  })

  it('forgets what is older than is wanted, and then does not know since when a value stands', async () => {
    await night([[hotel('A', { gas: '1', oil: '1' })]])
    await night([[hotel('A', { gas: '2', oil: '1' })]])
    const between = await clock()
    await night([[hotel('A', { gas: '2', oil: '2' })]])
    // A change, and a search that no history needs any more.
    expect(await removeOld(db, 'value_changes', between)).toBe(2)
    expect(await history()).toEqual([
      `A ${id('k')} gas=2 ?-3 stands`,
      `A ${id('k')} oil=1 ?-2 until 3`,
      `A ${id('k')} oil=2 3-3 stands`,
    ])
    expect(await removeOld(db, 'value_changes', between)).toBe(0)
  })
})
