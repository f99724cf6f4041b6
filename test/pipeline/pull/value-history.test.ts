import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { removeOld } from '../../../src/db/housekeeping/remove-old.ts'
import { beginHistory } from '../../../src/pipeline/pull/merge/value-history.ts'
import type { FinishOptions } from '../../../src/pipeline/pull/search/finish-search.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

/** When each night began and ended, by the clock of the database; times are read back as the night they lie in. */
let nights: { from: Date; to: Date }[] = []

beforeEach(async () => {
  nights = []
  await emptyTables(
    db,
    [
      'company',
      'custom_property',
      'company_property',
      'calculator_variable',
      'calculator',
      'calculator_value',
      'calculator_value_change',
      'history_start',
      'complete_search',
      'search_seen_company',
      'search_seen_calculator',
      'quarantine',
      'unrenewed_part',
      'removed_value',
      'removed_property',
    ],
    true,
  )
})

const clock = async () => {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db)
  return rows[0]?.now ?? new Date(Number.NaN)
}

type NightOptions = { history?: boolean; finish?: FinishOptions | false }

/** One night: a search of these pages, ended unless `finish` is false. */
async function night(pages: SampleCompany[][], { history = true, finish = {} }: NightOptions = {}): Promise<void> {
  const from = await clock()
  const listed = await database.search(pages.length)
  const submissionId = listed[0]?.submission_id ?? 0
  await db.transaction().execute((trx) => beginHistory(trx, submissionId, history))
  const calculatorTypeIds = finish === false ? [] : [...(finish.calculatorTypeIds ?? [])]
  for (const [index, companies] of pages.entries()) {
    const page = listed[index]
    if (page !== undefined)
      await database.load(page, bodyOf(samplePage(companies)), { calculatorTypeIds, minSeenShare: 0 })
  }
  if (finish !== false) await database.finish(submissionId, { minSeenShare: 0, ...finish })
  nights.push({ from, to: await clock() })
}

const nightOf = (at: Date | null) =>
  at === null ? null : nights.findIndex(({ from, to }) => at >= from && at <= to) + 1

/**
 * The history, a line per value that ever stood: company, calculator, variable = value, first night–last night, end.
 */
async function history(): Promise<string[]> {
  const rows = await db
    .selectFrom('calculator_value_history')
    .innerJoin('companies', 'companies.company_id', 'calculator_value_history.company_id')
    .selectAll('calculator_value_history')
    .select('companies.name')
    .execute()
  return rows
    .map((row) => {
      const [first, last, end] = [row.first_seen_at, row.last_seen_at, row.ended_at].map(nightOf)
      const until = end === null ? 'stands' : `until ${end}`
      return `${row.name} ${row.calculator_id.slice(0, 4)} ${row.variable_id}=${row.value} ${first ?? '?'}-${last ?? '?'} ${until}`
    })
    .sort()
}

/** What the night changed, a line each. */
async function changes(): Promise<string[]> {
  const rows = await db
    .selectFrom('value_changes')
    .innerJoin('companies', 'companies.company_id', 'value_changes.company_id')
    .selectAll('value_changes')
    .select('companies.name')
    .orderBy('change_id')
    .execute()
  return rows.map(
    ({ name, variable_id, kind, before, after, changed_at }) =>
      `${nightOf(changed_at)} ${name} ${variable_id} ${kind} ${before ?? ''}>${after ?? ''}`,
  )
}

const id = (name: string) => uuid(name).slice(0, 4)
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

  it('ends the values of a company that is gone, and begins them anew when it resurrects', async () => {
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

  it('ends the values of a calculator that its company leaves out, and begins them anew when it is back', async () => {
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
  it('is empty, and nothing is recorded, while no search records', async () => {
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

  it('begins anew after a search that did not record, and keeps the changes known before', async () => {
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

  it('of twenty nights of made-up changes is what a bookkeeper would write down', async () => {
    const random = generator(7)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const names = ['A', 'B', 'C', 'D']
    const book = new Map<string, { value: string; first: number; last: number; end: number | null }[]>()
    for (let number = 1; number <= 20; number++) {
      const present = names.filter(() => random() < 0.8)
      const companies = new Map(present.map((name) => [name, company(name, { calculators: [] })]))
      const shown = new Map<string, string>()
      for (const k of ['k1', 'k2', 'k3', 'k4', 'k5', 'k6']) {
        const owner = random() < 0.8 ? companies.get(pick(names)) : undefined
        if (owner === undefined) continue
        const inputs = Object.fromEntries(['gas', 'oil'].filter(() => random() < 0.7).map((v) => [v, pick(['1', '2'])]))
        owner.calculators.push(calculator(k, { inputs, outputs: {} }))
        for (const [variable, value] of Object.entries(inputs)) shown.set(`${owner.name} ${id(k)} ${variable}`, value)
      }
      const pages: SampleCompany[][] = [[], []]
      for (const one of companies.values()) pick(pages).push(one)
      await night(pages)
      for (const key of new Set([...book.keys(), ...shown.keys()])) {
        const stints = book.get(key) ?? []
        book.set(key, stints)
        const standing = stints.find(({ end }) => end === null)
        const value = shown.get(key)
        if (standing !== undefined && standing.value === value) standing.last = number
        else {
          if (standing !== undefined) standing.end = number
          if (value !== undefined) stints.push({ value, first: number, last: number, end: null })
        }
      }
    }
    const written = [...book].flatMap(([key, stints]) =>
      stints.map(
        ({ value, first, last, end }) => `${key}=${value} ${first}-${last} ${end === null ? 'stands' : `until ${end}`}`,
      ),
    )
    expect(written.length).toBeGreaterThan(60)
    expect(await history()).toEqual(written.sort())
  })
})

/** Numbers from 0 to 1 that are the same in every run. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
