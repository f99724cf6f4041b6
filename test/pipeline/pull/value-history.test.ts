import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { removeOld } from '../../../src/db/housekeeping/remove-old.ts'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { acceptRemovals } from '../../../src/pipeline/pull/removals/take-removals.ts'
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

  it('writes no change for a calculator that is new, whatever several pages make of it', async () => {
    await night([[hotel('B', { gas: '2' }, 'kb')]])
    await night([[hotel('B', { gas: '2' }, 'kb'), hotel('A', { gas: '1' })], [hotel('A', { gas: '3', oil: '9' })]])
    expect(await changes()).toEqual([])
    const stands = [`A ${id('k')} gas=3 2-2 stands`, `A ${id('k')} oil=9 2-2 stands`, `B ${id('kb')} gas=2 1-2 stands`]
    expect(await history()).toEqual(stands)

    await night([[hotel('B', { gas: '2' }, 'kb'), hotel('A', { gas: '1' })], [hotel('A', { gas: '2', oil: '9' })]])
    expect(await changes()).toEqual(['3 A gas changed 3>2'])
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

  it.each([true, false])(
    'nets what a search that failed before its end did, as the next begins, which records: %s',
    async (records) => {
      const [kb, c] = [hotel('B', { gas: '2' }, 'kb'), hotel('C', { gas: '3' }, 'kc')]
      const withoutA = company('A', { calculators: [] })
      await night([[hotel('A', { gas: '1' }), kb]])
      for (const failed of [2, 3]) {
        await night([[withoutA, kb], [hotel('A', { gas: '1' })]], { finish: false })
        expect(await changes()).toEqual([`${failed} A gas removed 1>`, `${failed} A gas added >1`])
      }
      await night([[hotel('A', { gas: '1' }), kb, c]], { history: records })
      expect(await changes()).toEqual([])
    },
  )

  it('leaves alone what was done by hand after a search that came to its end', async () => {
    await night([[hotel('A', { gas: '1' })]])
    await night([[hotel('A', {})]])
    await db.transaction().execute((trx) => restoreRemoved(trx, {}))
    await night([[hotel('A', {})]])
    expect(await changes()).toEqual(['2 A gas removed 1>', '0 A gas added >1'])
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

describe('the last search that showed a value', () => {
  const water = { water: '5' }
  const bare = (name: string) => hotel(name, {})
  const unreadable = Object.assign([], { toJSON: () => null })

  it('a value that is withheld was last shown before that, however many searches show it as absent', async () => {
    await night([[hotel('A', { gas: '1' }), hotel('B', water, 'kb')]])
    for (const _again of [1, 2]) await night([[bare('A'), hotel('B', water, 'kb')]], { minSeenShare: 0.8 })
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 stands`, `B ${id('kb')} water=5 1-3 stands`].toSorted())
    await night([[hotel('A', { gas: '1' }), hotel('B', water, 'kb')]])
    expect(await history()).toContain(`A ${id('k')} gas=1 1-4 stands`)
  })

  it.each([
    [
      'its value is not a text',
      company('A', { calculators: [calculator('k', { inputs: { gas: 1 } as never, outputs: {} })] }),
    ],
    ['its calculator cannot be read', company('A', { calculators: [{ ...calculator('k'), typeId: null as never }] })],
    ['its company cannot be read', company('A', { calculators: unreadable })],
  ])('a value was last shown before it could not be read any more: %s', async (_, spoilt) => {
    await night([[hotel('A', { gas: '1' })]])
    for (const _again of [1, 2]) await night([[spoilt]])
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 stands`])
    await night([[hotel('A', { gas: '2' })]])
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 until 4`, `A ${id('k')} gas=2 4-4 stands`])
  })

  it('a withheld value that a person lets go was last shown before it was withheld', async () => {
    await night([[hotel('A', { gas: '1' })]])
    for (const _again of [1, 2]) await night([[bare('A')]], { minSeenShare: 0.5 })
    await db.transaction().execute((trx) => acceptRemovals(trx, {}))
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 until 0`])
  })

  it('a withheld value that goes with its calculator or its company was last shown before it was withheld', async () => {
    const c = hotel('C', water, 'kc')
    await night([[hotel('A', { gas: '1' }), hotel('B', { gas: '2' }, 'kb'), c]])
    await night([[bare('A'), hotel('B', {}, 'kb'), c]], { minSeenShare: 0.5 })
    await night([[company('A', { calculators: [] }), c]])
    expect(await history()).toEqual(
      [
        `A ${id('k')} gas=1 1-1 until 3`,
        `B ${id('kb')} gas=2 1-1 until 3`,
        `C ${id('kc')} water=5 1-3 stands`,
      ].toSorted(),
    )
  })

  it('a withheld value whose calculator moves to another company was last shown before it was withheld', async () => {
    const b = (...ks: ReturnType<typeof calculator>[]) => company('B', { calculators: ks })
    await night([[hotel('A', { gas: '1' }), b()]])
    await night([[bare('A'), b()]], { minSeenShare: 0.5 })
    await night([[b(calculator('k', { inputs: { gas: '1' }, outputs: {} })), company('A', { calculators: [] })]])
    expect(await history()).toEqual([`A ${id('k')} gas=1 1-1 until 3`, `B ${id('k')} gas=1 3-3 stands`])
  })

  it('a value that a person brought back was shown by no search since', async () => {
    await night([[hotel('A', { gas: '1' })]])
    await night([[bare('A')]])
    await db.transaction().execute((trx) => restoreRemoved(trx, {}))
    await night([[bare('A')]])
    expect(await history()).toEqual([`A ${id('k')} gas=1 0-0 stands`, `A ${id('k')} gas=1 1-1 until 2`])
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
