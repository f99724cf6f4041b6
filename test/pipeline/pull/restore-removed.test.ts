import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { bringBack } from '../../../src/pipeline/actions/act-on-rows.ts'
import { countRestorable } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { calculator, company, samplePage, uuid } from './sample-page.ts'
import { bothWays, openNights } from './search-nights.ts'

const { database, db, night, known, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  await clear()
  await emptyTables(db, ['action'])
})

const brandNames = [{ id: 'brand', name: 'Brand' }]
const deps = { db, now: () => new Date('2026-11-22T12:00:00Z') }
const bringBackBy = async (filter = {}) =>
  (await bringBack(deps, filter, { user: 'ada', host: 'ferry' }, async () => {})).properties
const brands = async () => ((await known()).properties as { value: string }[]).map(({ value }) => value).join('')
const removed = async () =>
  (await sql<{ value: string }>`select value from removals order by ordinal, value`.execute(db)).rows
    .map(({ value }) => value)
    .join('')

describe.each(bothWays)('a list of a property, loaded %s,', (_way, how) => {
  /** A night after each of these lists; of null the company is absent. */
  const lists = async (...all: (string | null)[]) => {
    for (const list of all) {
      const shown = list === null ? [] : [company('A', { fields: { brand: list.split('') } })]
      const page = { ...samplePage(shown), customProperties: brandNames }
      await night([page], { ...how, minSeenShare: 0 }, { minSeenShare: 0 })
    }
  }

  it('keeps the value that it has lost, and not the one that moved up, which comes back nowhere', async () => {
    await lists('abc', 'ac')
    expect(await removed()).toBe('b')
    expect(await bringBackBy()).toBe(0)
    expect(await brands()).toBe('ac')
  })

  it('keeps one of two that are alike', async () => {
    await lists('aab', 'ab')
    expect(await removed()).toBe('a')
    await lists('b')
    expect(await removed()).toBe('aa')
  })

  it('has its end back', async () => {
    await lists('abc', 'ab')
    expect(await bringBackBy()).toBe(1)
    expect(await brands()).toBe('abc')
  })

  it.each([
    ['another list', ['xyz', null, 'n'], 'n'],
    ['a longer one', ['xy', 'x', 'xnm'], 'xnm'],
    ['another value before its end', ['xyz', 'x', 'n'], 'n'],
  ])('has nothing back where %s has taken its place', async (_title, nights, stands) => {
    await lists(...nights)
    expect(await bringBackBy()).toBe(0)
    expect(await brands()).toBe(stands)
  })

  it.each([
    ['none', ['abc', 'ab'], 0],
    ['none that is shown again', ['abc', 'ab', 'abc'], 0],
    ['one that went from its middle', ['abc', 'ac'], 1],
    ['one that went from its beginning', ['ab', 'b'], 1],
  ])('has %s of which another has taken the place', async (_title, nights, taken) => {
    await lists(...nights)
    expect(await countRestorable(db, {})).toMatchObject({ taken })
  })

  it('comes back as it was last, and not put together from several moments', async () => {
    await lists('abc', 'ab', null)
    expect(await bringBackBy()).toBe(2)
    expect(await brands()).toBe('ab')
  })
})

describe('what can be brought back of one hotel', () => {
  it('has nothing of another in it', async () => {
    const shown = (brand: string[]) => [
      { ...samplePage(['A', 'B'].map((name) => company(name, { fields: { brand } }))), customProperties: brandNames },
    ]
    const guard = { minSeenShare: 0 }
    const { listed } = await night(shown(['a', 'b', 'c']), guard, guard)
    for (const brand of [['a'], ['a', 'b', 'c'], ['b']]) await night(shown(brand), guard, guard)
    const submission_id = listed[0]?.submission_id ?? 0
    await db.deleteFrom('mapping').execute()
    await db
      .insertInto('mapping')
      .values({ partner_id: 'H-1', company_id: uuid('A'), submission_id })
      .execute()
    expect(await countRestorable(db, {})).toMatchObject({ properties: 0, taken: 4 })
    expect(await countRestorable(db, { partnerId: 'H-1' })).toMatchObject({ properties: 0, taken: 2 })
    await night(shown([]), guard, guard)
    expect(await countRestorable(db, { partnerId: 'H-1' })).toMatchObject({ properties: 1, taken: 0, companies: 1 })
    expect(await bringBackBy({ partnerId: 'H-1' })).toBe(1)
  })
})

describe('what was removed in two runs', () => {
  /** The newest search becomes that of a run of its own. */
  const ofItsOwnRun = async () => {
    const { rows } = await sql<{ run_id: number }>`
      with made as (
        insert into run (job, trigger, scheduled_for, state, step)
        select 'test', 'cli', '2026-01-01'::timestamptz + count(*) * interval '1 day', 'finished', 'done' from run
        returning run_id
      )
      update submission s set run_id = made.run_id from made
      where submission_id = (select max(submission_id) from submission) returning s.run_id`.execute(db)
    return rows[0]?.run_id ?? 0
  }
  const shown = (value: string | null) =>
    samplePage([
      company('A', {
        fields: value === null ? {} : { brand: [value] },
        calculators: [calculator('k', { inputs: value === null ? {} : { power: value }, outputs: {} })],
      }),
    ])
  const stands = async () => {
    const { values, properties } = await known()
    return [...values, ...properties].map((one) => (one as { value: string }).value)
  }

  it('comes back of the later one alone, as it was last', async () => {
    const runs: number[] = []
    for (const value of ['10', null, '20', null]) {
      const page = { ...shown(value), customProperties: brandNames }
      await night([page], { minSeenShare: 0 }, { minSeenShare: 0 })
      runs.push(await ofItsOwnRun())
    }
    const restored = (runId = 0) => bringBack(deps, { runId }, { user: 'ada', host: 'ferry' }, async () => {})
    expect(await restored(runs[1])).toMatchObject({ values: 0, properties: 0 })
    expect(await stands()).toEqual([])
    expect(await restored(runs[3])).toMatchObject({ values: 1, properties: 1 })
    expect(await stands()).toEqual(['20', '20'])
  })

  describe('of which the later one removed all that was left', () => {
    const inputsOnly = { inputs: { power: '1' }, outputs: {} }
    const both = { inputs: { power: '1' }, outputs: { total: '2' } }
    const neither = { inputs: {}, outputs: {} }
    const a = (calculators: Record<string, object>, brand: string[]) => {
      const shownCalculators = Object.entries(calculators).map(([name, values]) => calculator(name, values))
      return [company('A', { fields: brand.length === 0 ? {} : { brand }, calculators: shownCalculators })]
    }
    /** The run of each night. */
    const nights = async (...all: ReturnType<typeof a>[]) => {
      const runs: number[] = []
      for (const companies of all) {
        const page = { ...samplePage(companies), customProperties: brandNames }
        await night([page], { minSeenShare: 0 }, { minSeenShare: 0 })
        runs.push(await ofItsOwnRun())
      }
      return runs
    }
    const restored = (runId = 0) => bringBack(deps, { runId }, { user: 'ada', host: 'ferry' }, async () => {})
    const nothing = { companies: 0, calculators: 0, values: 0, properties: 0 }

    it.each<[string, ReturnType<typeof a>[], number]>([
      ['company', [a({ k: both, m: both }, ['x', 'y']), a({ k: inputsOnly }, ['x']), []], 3],
      ['calculator', [a({ k: both, m: both }, ['x']), a({ k: inputsOnly, m: both }, ['x']), a({ m: both }, ['x'])], 1],
      ['company, which was empty by then,', [a({ k: both }, ['x']), a({ k: neither }, []), []], 3],
    ])('stays removed for the earlier run where the later one removed its %s', async (_what, all, gone_later) => {
      const [, earlier] = await nights(...all)
      const before = await known()
      const found = { values: 0, properties: 0, companies: 0, gone_later }
      expect(await countRestorable(db, { runId: earlier ?? 0 })).toMatchObject(found)
      expect(await restored(earlier)).toEqual(nothing)
      expect(await known()).toEqual(before)
      expect(await countRestorable(db, {})).toMatchObject({ gone_later: 0 })
    })

    it('comes back for the earlier run once the later one has been brought back', async () => {
      const [, earlier, later] = await nights(a({ k: both }, ['x', 'y']), a({ k: inputsOnly }, ['x']), [])
      expect(await restored(later)).toEqual({ companies: 1, calculators: 1, values: 1, properties: 1 })
      expect(await restored(earlier)).toEqual({ ...nothing, values: 1, properties: 1 })
      expect(await stands()).toEqual(['1', '2', 'x', 'y'])
    })

    it('comes back with the company that one run removed, although later runs came', async () => {
      const [, gone] = await nights(a({ k: both }, ['x']), [], [])
      expect(await restored(gone)).toEqual({ companies: 1, calculators: 1, values: 2, properties: 1 })
    })
  })
})
