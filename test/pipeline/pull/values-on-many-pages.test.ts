import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { searchReports } from '../../../src/db/runs/search-reports.ts'
import { beginHistory } from '../../../src/pipeline/pull/merge/value-history.ts'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { acceptRemovals } from '../../../src/pipeline/pull/removals/take-removals.ts'
import { searchKind } from '../../../src/pipeline/streams/kind-names.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { ordersOf } from './orders.ts'
import { bodyOf, calculator, company } from './sample-page.ts'
import { openNights } from './search-nights.ts'

const { database, db, marks: allMarks } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
const clear = () =>
  emptyTables(
    db,
    [...pulledTables, 'page_listing', 'calculator_value_change', 'history_start', 'complete_search'],
    true,
  )
beforeEach(clear)

const upper = 'BBBBBBBB-0000-4000-8000-00000000000B'
const names = ['e', 'g', 'total', upper].map((id) => ({ id, name: `name of ${id}` }))
/** A listing of the company A, with the calculator x and these inputs. */
const a = (inputs: object, over: object = {}) => ({
  ...company('A'),
  calculators: [{ ...calculator('x'), inputs, outputs: {}, ...over }],
})
const without = a({ e: '1' })
const g = (value: unknown) => a({ e: '1', g: value })
const hotels = (outputs: object) =>
  Array.from({ length: 3 }, (_, index) =>
    company(`hotel ${index}`, {
      calculators: [{ ...calculator(`h${index}`), inputs: {}, outputs } as ReturnType<typeof calculator>],
    }),
  )
const others = hotels({ total: '5' })

type How = { share?: number; endShare?: number; missing?: boolean; withOthers?: number; others?: typeof others }

/** A search of these listings of A, each on a page of its own, loaded in this order; of `missing` a page does not come. */
async function night(
  listings: unknown[],
  order = listings.map((_, index) => index),
  { share = 0, endShare = 0, missing = false, withOthers = 0, others: hotel = others }: How = {},
) {
  const pages = await database.search(listings.length + (missing ? 1 : 0))
  const submissionId = pages[0]?.submission_id ?? 0
  await db.transaction().execute((trx) => beginHistory(trx, submissionId, true))
  for (const index of order) {
    const page = pages[index]
    if (page === undefined) continue
    const companies = [listings[index], ...(index === withOthers ? hotel : [])]
    await database.load(page, bodyOf({ calculatorVariables: names, companies }), { minSeenShare: share })
  }
  const ended = await database.finish(submissionId, { minSeenShare: endShare })
  await db
    .updateTable('submission')
    .set({ search_result: JSON.stringify(ended) })
    .where('submission_id', '=', submissionId)
    .execute()
  return ended
}

const texts = async (query: ReturnType<typeof sql>) =>
  (await sql<{ text: string }>`select text from (${query}) found`.execute(db)).rows.map(({ text }) => text)
const values = async () =>
  (
    await texts(sql`
      select variable_id || value as text from calculator_values
      where calculator_id = ${calculator('x').id} order by direction, lower(variable_id)`)
  ).join(' ')
const removed = () => texts(sql`select value as text from removals order by 1`)
const changedAt = () => texts(sql`select changed_at::text as text from calculators order by calculator_id`)
const changes = () =>
  texts(sql`select concat_ws('>', coalesce(before, ''), coalesce(after, '')) as text from value_changes order by 1`)
const marks = async () => (await allMarks()).filter(({ part }) => part === 'value')
const mark = (reason: string, withheld = false, parts = 1) => [{ part: 'value', reason, withheld, parts }]

/** A stands so. */
async function known(listings: unknown[]) {
  await clear()
  await night(listings)
  await sql`truncate calculator_value_change`.execute(db)
}

describe('the value of a calculator that stands on several pages', () => {
  it('stays, with a mark, where the page that gives it does not come, and no person can accept that it goes', async () => {
    await known([without, g('2')])
    for (let count = 0; count < 2; count++) {
      expect(await night([without], [0], { missing: true })).toMatchObject({ reason: 'pages_not_loaded' })
      await db.transaction().execute((trx) => acceptRemovals(trx, {}))
      expect([await values(), await marks(), await removed()]).toEqual(['e1 g2', mark('on_many_pages'), []])
    }
    await night([without, g('2')])
    expect([await values(), await marks(), await changes()]).toEqual(['e1 g2', [], []])
  })

  it('stays where a page that holds little else lacks it under the guard, and the others do not come', async () => {
    const outputs = a({}, { outputs: { total: '2' } })
    await known([without, outputs])
    await night([without], [0], { missing: true, share: 0.5, others: [] })
    expect([await values(), await marks()]).toEqual(['e1 total2', mark('on_many_pages')])
  })

  it('a value is unchanged and counts as no change in whatever order the pages are loaded', async () => {
    await known([without, g('2'), without])
    const before = await changedAt()
    for (const order of ordersOf([0, 1, 2])) {
      await night([without, g('2'), without], order)
      expect([await values(), await marks(), await removed()]).toEqual(['e1 g2', [], []])
    }
    expect([await changedAt(), await changes()]).toEqual([before, []])
    const counted = await texts(sql`
      select added || ' ' || removed as text from search_page order by submission_id desc limit 18`)
    expect(new Set(counted)).toEqual(new Set(['0 0']))
  })

  it('a value that goes is counted by the report as it was recorded: once, or not at all, whichever page comes first', async () => {
    const counts = async () => {
      const { run_id } = await db.selectFrom('run').select('run_id').executeTakeFirstOrThrow()
      const { added, removed: gone } = (await searchReports(db, run_id, searchKind)).at(-1) ?? {}
      return [added, gone, await changes()]
    }
    for (const order of ordersOf([0, 1])) {
      for (const stood of [[g('2')], [without, g('2')]]) {
        await known(stood)
        await night([without, g('2')], order)
        expect(await counts()).toEqual([0, 0, []])
        await known(stood)
        await night([without, without], order)
        expect(await counts()).toEqual([0, 1, ['2>']])
      }
    }
  })

  it('goes where no page of a complete search gives it, and can be brought back', async () => {
    for (const order of ordersOf([0, 1])) {
      await known([without, g('2')])
      const before = await changedAt()
      await night([without, without], order)
      expect([await values(), await marks(), await removed(), await changes()]).toEqual(['e1', [], ['2'], ['2>']])
      expect(await changedAt()).not.toEqual(before)
      await db.transaction().execute((trx) => restoreRemoved(trx, {}))
      expect(await values()).toBe('e1 g2')
      await night([without, without], order)
      expect([await values(), await marks()]).toEqual(['e1 g2', mark('restored', true)])
    }
  })

  it('a value is what the page that gives it says, and not removed, also on the first night on several pages', async () => {
    for (const order of ordersOf([0, 1])) {
      for (const stood of [[g('2')], [without, g('2')]]) {
        for (const [given, expected, lost, changed] of [
          [g('2'), 'e1 g2', [], []],
          [g('3'), 'e1 g3', [], ['2>3']],
          [without, 'e1', ['2'], ['2>']],
        ] as const) {
          await known(stood)
          await night([without, given], order)
          expect([await values(), await marks(), await removed(), await changes()]).toEqual([
            expected,
            [],
            lost,
            changed,
          ])
        }
      }
    }
  })

  it('stays, marked, where a page gives it in a form that cannot be read, also on the first such night', async () => {
    for (const order of ordersOf([0, 1])) {
      for (const stood of [[g('2')], [without, g('2')]]) {
        await known(stood)
        await night([without, g(null)], order)
        expect([await values(), await marks(), await removed()]).toEqual(['e1 g2', mark('no_text'), []])
      }
    }
  })

  it.each([
    ['shows the company in a form that cannot be read', { ...company('A'), calculators: null }],
    ['shows the calculator in a form that cannot be read', a({ e: '1' }, { period: null })],
    ['shows a calculator without an id', a({ e: '1' }, { id: 'none' })],
  ])('stays, marked, where another page %s, also on the first such night', async (_how, doubtful) => {
    for (const order of [
      [0, 1, 2],
      [1, 0, 2],
      [0, 2, 1],
    ]) {
      for (const stood of [[g('2')], [without, g('2')]]) {
        await known(stood)
        await night([without, doubtful, without], order)
        expect([await values(), await marks(), await removed()]).toEqual([
          'e1 g2',
          mark('unidentified_calculators'),
          [],
        ])
      }
    }
  })

  it('stays withheld where too much would go at the end, until a person accepts that', async () => {
    const outputs = a({}, { outputs: { total: '2' } })
    for (const order of ordersOf([0, 1])) {
      await known([without, outputs])
      const ended = await night([without, without], order, { share: 0.9, endShare: 0.9 })
      expect(ended).toMatchObject({ withheld: true, reason: 'too_few_outputs' })
      expect([await values(), await marks(), await removed()]).toEqual(['e1 total2', mark('too_few_outputs', true), []])
      await db.transaction().execute((trx) => acceptRemovals(trx, {}))
      expect([await values(), await marks(), await removed()]).toEqual(['e1', [], ['2']])
    }
  })

  it('stays withheld where a page that lacks it shows too few of others, whichever comes first', async () => {
    const outputs = a({}, { outputs: { total: '2' } })
    for (const order of ordersOf([0, 1])) {
      await known([without, outputs])
      await night([without, without], order, { share: 0.5, others: hotels({}) })
      expect([await values(), await marks()]).toEqual(['e1 total2', mark('too_few_outputs', true, 4)])
    }
  })

  it('goes where a page gives it under the other spelling of its variable, whichever page comes first', async () => {
    for (const order of ordersOf([0, 1])) {
      await clear()
      await sql`
        insert into calculator_variable (variable_id, name) values (${upper}, 'V'), (${upper.toLowerCase()}, 'V')`.execute(
        db,
      )
      await night([a({ [upper]: '1' })])
      await night([without, a({ [upper.toLowerCase()]: '2' })], order)
      expect([await values(), await marks()]).toEqual([`${upper.toLowerCase()}2 e1`, []])
    }
  })
})
