import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { acceptRemovalsOf, bringBack } from '../../../src/pipeline/actions/act-on-rows.ts'
import { countRestorable } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { company, samplePage } from './sample-page.ts'
import { bothWays, openNights } from './search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  await clear()
  await emptyTables(db, ['action'])
})

const deps = { db, now: () => new Date('2026-11-22T12:00:00Z') }
const person = { user: 'ada', host: 'ferry' }
const lists = async () => {
  const { properties } = (await known()) as { properties: { ordinal: number; value: string }[] }
  expect(properties.map(({ ordinal }) => Number(ordinal))).toEqual(properties.map((_, index) => index + 1))
  return properties.map(({ value }) => value).join('')
}
const removed = async () =>
  (await sql<{ value: string }>`select value from removals order by ordinal, value`.execute(db)).rows
    .map(({ value }) => value)
    .join('')
const leftOut = async () =>
  (await sql`select reason, excerpt from quarantine where unit = 'property' order by page_id`.execute(db)).rows

describe.each(bothWays)('a list of a property that is partly withheld or restored, loaded %s,', (_way, how) => {
  /**
   * What happens to a list: a night that shows it so (`null`: without the company), under the guard if there is a `!`;
   * or what a person does.
   */
  const happens = async (...all: (string | null)[]) => {
    for (const step of all) {
      if (step === 'restore') await bringBack(deps, {}, person, async () => {})
      else if (step === 'accept') await acceptRemovalsOf(deps, {}, person, async () => {})
      else if (step === 'accept restored') await acceptRemovalsOf(deps, { reason: 'restored' }, person, async () => {})
      else {
        const list = step?.replace('!', '')
        const shown = list === undefined ? [] : [company('A', { fields: list === '' ? {} : { brand: list.split('') } })]
        const guard = { minSeenShare: step?.endsWith('!') === true ? 0.9 : 0 }
        await night(
          [{ ...samplePage(shown), customProperties: [{ id: 'brand', name: 'Brand' }] }],
          { ...how, ...guard },
          { minSeenShare: 0 },
        )
      }
    }
  }
  const tooFew = (parts: number) => [{ part: 'property', reason: 'too_few_properties', withheld: true, parts }]
  const restored = (parts: number) => [{ part: 'property', reason: 'restored', withheld: true, parts }]

  it.each([
    ['stays whole where the page gives another in its place', ['abc', 'x!'], 'abc', tooFew(3), ''],
    ['stays as it was where the page gives its beginning', ['abc', 'a!'], 'abc', tooFew(2), ''],
    ['becomes its beginning once that is accepted', ['abc', 'a!', 'accept'], 'a', [], 'bc'],
    ['goes whole once another is accepted', ['abc', 'x!', 'accept'], '', [], 'abc'],
    ['is another after that', ['abc', 'x!', 'accept', 'x'], 'x', [], 'abc'],
    ['stays whole where it was brought back in part', ['abc', 'ab', 'restore', 'x'], 'abc', restored(3), ''],
    ['has no hole where less than its beginning is shown', ['abc', 'ab', 'restore', 'a'], 'abc', restored(2), ''],
    ['loses its mark where it is shown', ['abc', 'ab', 'restore', 'abc'], 'abc', [], ''],
    ['becomes one of the same length', ['abc', 'ab', 'restore', 'xyz'], 'xyz', [], 'abc'],
    ['becomes a longer one', ['abc', 'ab', 'restore', 'wxyz'], 'wxyz', [], 'abc'],
    ['keeps what it loses to others in the same places', ['abc', 'ab', 'restore', 'axc'], 'axc', [], 'b'],
    ['stays whole after its company was gone', ['abc', null, 'restore', 'x'], 'abc', restored(3), ''],
    ['becomes another where no guard keeps it any more', ['abc', 'x!', 'xy'], 'xy', [], 'abc'],
    ['has one reason where more of it is missing each night', ['abc', 'ab!', 'x!'], 'abc', tooFew(3), ''],
    ['has one reason where it was brought back', ['abc', 'ab', 'restore', 'a!'], 'abc', restored(2), ''],
    [
      'stays restored where what is withheld is accepted',
      ['abc', 'ab', 'restore', 'x!', 'accept'],
      'abc',
      restored(3),
      '',
    ],
    ['goes whole where that is accepted', ['abc', 'ab', 'restore', 'x', 'accept restored'], '', [], 'abc'],
  ])('%s', async (_title, steps, stands, marked, lost) => {
    await happens(...steps)
    expect(await lists()).toBe(stands)
    expect(await marks()).toEqual(marked)
    expect(await removed()).toBe(lost)
  })

  it('shows what the page gave in its place', async () => {
    await happens('abc', 'x!')
    expect(await leftOut()).toEqual([{ reason: 'too_few_properties', excerpt: '["x"]' }])
    await happens('accept', 'x')
    expect(await countRestorable(db, {})).toMatchObject({ properties: 0, taken: 3 })
  })

  it('goes whole or not at all where removals since a day are accepted', async () => {
    await happens('abc', 'ab!')
    await sql`update unrenewed_part set since = '2026-01-01'`.execute(db)
    await happens('x!')
    await acceptRemovalsOf(deps, { since: new Date('2026-06-01') }, person, async () => {})
    expect(await lists()).toBe('abc')
    await acceptRemovalsOf(deps, { since: new Date('2025-06-01') }, person, async () => {})
    expect(await lists()).toBe('')
  })

  it('stays whole where its company is on the page twice', async () => {
    await happens('abc')
    const listed = (name: string) => company('A', { fields: { brand: [name] } })
    const page = { ...samplePage([listed('x'), listed('y')]), customProperties: [{ id: 'brand', name: 'Brand' }] }
    await night([page], { ...how, minSeenShare: 0 })
    expect(await lists()).toBe('abc')
    expect(await marks()).toEqual([{ part: 'property', reason: 'company_twice', withheld: false, parts: 3 }])
  })
})
