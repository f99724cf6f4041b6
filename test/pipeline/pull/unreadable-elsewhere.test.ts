import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { beginHistory } from '../../../src/pipeline/pull/merge/value-history.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { ordersOf } from './orders.ts'
import {
  bodyOf,
  calculator,
  company,
  type SampleCalculator,
  type SampleCompany,
  samplePage,
  uuid,
} from './sample-page.ts'
import { searchDatabase } from './search-database.ts'

const database = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing', 'calculator_value_change', 'history_start'], true)
})

const a = (...ids: string[]) => company('A', { calculators: ids.map((id) => calculator(id)) })
const b = (...more: unknown[]) => company('B', { calculators: [calculator('b1'), ...more] as never })
/** A calculator that is there, in a form that cannot be read. */
const unreadable = (id: string) => ({ ...calculator(id), period: null })
const others = Array.from({ length: 5 }, (_, index) => company(`hotel ${index}`))

/** One search that records history, of these pages, loaded in this order. */
async function night(pages: SampleCompany[][], order = pages.map((_, index) => index)) {
  const listed = await database.search(pages.length)
  const submissionId = listed[0]?.submission_id ?? 0
  await db.transaction().execute((trx) => beginHistory(trx, submissionId, true))
  for (const index of order) {
    const page = listed[index]
    if (page !== undefined) await database.load(page, bodyOf({ ...samplePage([a('k')]), companies: pages[index] }))
  }
  return await database.finish(submissionId)
}

/** The calculator `x`: whose it is, how many values it has, why it was not renewed; of what stands. */
const x = async () => {
  const { rows } = await sql`
    select c.name as company, k.not_renewed_reason as reason,
      (select count(*) from calculator_values v where v.calculator_id = k.calculator_id) as values
    from calculators k join companies c using (company_id)
    where k.calculator_id = ${uuid('x')} and k.removed_at is null`.execute(db)
  return rows
}

/** The company `A`. */
const standing = () =>
  db.selectFrom('companies').select(['removed_at', 'not_renewed_reason']).where('company_id', '=', uuid('A')).execute()

const first = () => night([[a('k', 'x'), ...others, b()]])

describe('a calculator that another company shows and nobody can read', () => {
  it.each([
    ['before the page of its own company', [0, 1]],
    ['after the page of its own company', [1, 0]],
  ])('stays where it was, with its values, where that is seen %s', async (_when, order) => {
    await first()
    for (let again = 0; again < 2; again++) {
      expect(await night([[...others, b(unreadable('x'))], [a('k')]], order)).toMatchObject({ withheld: false })
      expect(await x()).toEqual([{ company: 'A', reason: 'period_missing', values: 2 }])
    }
    expect(await db.selectFrom('value_changes').selectAll().execute()).toEqual([])
    expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])

    // Its own company shows it again, in the bytes of the first night.
    await night([[...others, b()], [a('k', 'x')]], order)
    expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
    await night([[...others, b(calculator('x'))], [a('k')]], order)
    expect(await x()).toEqual([{ company: 'B', reason: null, values: 2 }])
  })

  it('stays on one page with its own company, marked', async () => {
    await first()
    await night([[a('k'), ...others, b(unreadable('x'))]])
    expect(await x()).toEqual([{ company: 'A', reason: 'period_missing', values: 2 }])
  })

  it('stays, and is read again, where its own company shows it as it was', async () => {
    await first()
    await night([[...others, b(unreadable('x'))], [a('k', 'x')]])
    expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
  })

  it('keeps its company, of which nothing else is shown, until it can be read, so that no value goes unseen', async () => {
    await first()
    for (let again = 0; again < 2; again++) {
      expect(await night([[...others, b(unreadable('x'))]])).toMatchObject({ withheld: false, companies: 0 })
      expect(await x()).toEqual([{ company: 'A', reason: 'period_missing', values: 2 }])
      expect(await standing()).toEqual([{ removed_at: null, not_renewed_reason: 'period_missing' }])
    }
    expect(await db.selectFrom('value_changes').selectAll().execute()).toEqual([])
    expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
    const marks = db.selectFrom('not_renewed').select(['part', 'withheld', 'reason']).orderBy('part')
    expect(await marks.execute()).toContainEqual({ part: 'company', withheld: true, reason: 'period_missing' })

    expect(await night([[...others, b(calculator('x'))]])).toMatchObject({ companies: 1, calculators: 1 })
    expect(await x()).toEqual([{ company: 'B', reason: null, values: 2 }])
    expect(await standing()).toEqual([{ removed_at: expect.any(Date), not_renewed_reason: null }])
    expect(await marks.execute()).toEqual([])
  })

  it('does not come back where an earlier search removed it', async () => {
    await first()
    await night([[a('k'), ...others, b()]])
    await night([[...others, b(unreadable('x'))], [a('k')]])
    expect(await x()).toEqual([])
    await night([[a('k', 'x'), ...others, b()]])
    expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
  })

  it('comes back where the clock of our database was put back after the same search removed it', async () => {
    await first()
    const [own, elsewhere] = await database.search(2)
    if (own === undefined || elsewhere === undefined) throw new Error('the search has no pages')
    await database.load(own, bodyOf(samplePage([a('k'), ...others])))
    expect(await x()).toEqual([])
    await sql`update submission set planned_at = now() + interval '1 hour'`.execute(db)
    await database.load(elsewhere, bodyOf(samplePage([b(unreadable('x'))])))
    expect(await x()).toEqual([{ company: 'A', reason: 'period_missing', values: 2 }])
  })

  it('does not come back where an earlier search removed it by a clock that was ahead', async () => {
    await first()
    await night([[a('k'), ...others, b()]])
    await sql`update calculator set removed_at = removed_at + interval '1 hour'`.execute(db)
    await night([[a('k'), ...others, b(unreadable('x'))]])
    expect(await x()).toEqual([])
  })

  it.each([
    ['without it first', [0, 1]],
    ['with it first', [1, 0]],
  ])('stays where its own company is on two pages, the one %s', async (_which, order) => {
    await first()
    const half = company('A', { calculators: [unreadable('x')] as never })
    await night(
      [
        [a('k'), ...others],
        [half, b()],
      ],
      order,
    )
    expect(await x()).toEqual([{ company: 'A', reason: 'period_missing', values: 2 }])
  })

  const c = (...more: unknown[]) => company('C', { calculators: [calculator('c1'), ...more] as never })

  it.each(ordersOf([0, 1, 2]).map((order) => ({ order })))(
    'goes to the one company that shows it in a form that can be read, its pages loaded as $order',
    async ({ order }) => {
      await night([[a('k', 'x'), ...others, b(), c()]])
      await night([[b(unreadable('x'))], [c(calculator('x')), ...others], [a('k')]], order)
      expect(await x()).toEqual([{ company: 'C', reason: null, values: 2 }])
    },
  )

  /** As its own company is shown; a calculator of these names stands for one that cannot be read, or has no id. */
  const spoiltAs = (own: { calculators: unknown }) => ({
    ...own,
    calculators: (own.calculators as SampleCalculator[] | null)?.map((one) =>
      one.id === uuid('unreadable x') ? unreadable('x') : one.id === uuid('nameless') ? { ...one, id: null } : one,
    ) as never,
  })

  it.each([
    ['cannot be read', { ...a('k'), calculators: null as never }],
    ['shows it in a form that cannot be read', a('k', 'unreadable x')],
    ['shows one without an id', a('k', 'nameless')],
  ])('goes to the company that shows it readably, in either order, where its own %s', async (_how, own) => {
    const spoilt = { ...own, ...spoiltAs(own) }
    for (const before of [[[a('k', 'x'), ...others, c()]], [[a('k'), ...others, c()], [a('x')]]]) {
      for (const order of [
        [0, 1],
        [1, 0],
      ]) {
        await night(before)
        await night([[spoilt], [c(calculator('x')), ...others]], order)
        expect(await x()).toEqual([{ company: 'C', reason: null, values: 2 }])
      }
    }
  })

  it.each([{ order: [0, 1, 2] }, { order: [0, 2, 1] }, { order: [1, 0, 2] }])(
    'stays where its own company showed it before another one did, its pages loaded as $order',
    async ({ order }) => {
      await night([[a('x'), ...others, b(), c()], [a('k')]])
      await night([[a('x'), ...others], [b(unreadable('x'))], [c(calculator('x'))]], order)
      expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
    },
  )
})

describe('a calculator that the page of its own company does not have and another page has in part', () => {
  const bothOrders = [{ order: [0, 1] }, { order: [1, 0] }]
  const inPart = { ...calculator('x'), inputs: { electricity: 5 } } as never
  const values = async () => {
    const { rows } = await sql`
      select direction, value, not_renewed_reason as reason
      from calculator_values where calculator_id = ${uuid('x')} order by 1`.execute(db)
    return rows
  }
  const kept = [
    { direction: 'input', value: '1234.50', reason: 'no_text' },
    { direction: 'output', value: '0.25', reason: null },
  ]

  it.each(bothOrders)('moves with what could not be read of it, its pages loaded as $order', async ({ order }) => {
    await first()
    await night([[a('k'), ...others], [b(inPart)]], order)
    expect(await x()).toEqual([{ company: 'B', reason: null, values: 2 }])
    expect(await values()).toEqual(kept)
    expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
  })

  it.each(bothOrders)(
    'stays whole where its company is on two pages for the first time, loaded as $order',
    async ({ order }) => {
      await first()
      await night(
        [
          [a('k'), ...others],
          [company('A', { calculators: [inPart] }), b()],
        ],
        order,
      )
      expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
      expect(await values()).toEqual(kept)
      expect(await db.selectFrom('value_changes').selectAll().execute()).toEqual([])
      expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
    },
  )

  it.each(bothOrders)('loses what it is shown without, once, its pages loaded as $order', async ({ order }) => {
    await first()
    const { outputs: _, ...withoutOutputs } = calculator('x')
    await night([[a('k'), ...others], [b(withoutOutputs)]], order)
    expect(await x()).toEqual([{ company: 'B', reason: null, values: 1 }])
    const removals = db.selectFrom('removals').select(['company_id', 'calculator_id', 'direction', 'value'])
    expect(await removals.execute()).toEqual([
      { company_id: uuid('B'), calculator_id: uuid('x'), direction: 'output', value: '0.25' },
    ])
  })
})

describe('a calculator that no page shows of a company', () => {
  const nameless = { ...calculator('nameless'), id: null } as never
  const spoilt = [
    ['has one without an id', company('A', { calculators: [nameless] })],
    ['cannot be read', company('A', { calculators: null as never })],
  ] as const
  const marked = [{ company: 'A', reason: 'unidentified_calculators', values: 2 }]

  it.each(spoilt)(
    'stays, marked, in either order, where one of the two pages of its company %s',
    async (_how, half) => {
      for (const before of [[[a('k', 'x'), ...others, b()]], [[a('k'), ...others, b()], [a('x')]]]) {
        for (const order of [
          [0, 1],
          [1, 0],
        ]) {
          await night(before)
          const [seen] = await shown()
          await night(
            [
              [a('k'), ...others],
              [half, b()],
            ],
            order,
          )
          expect(await x()).toEqual(marked)
          expect(await shown()).toEqual([seen])
          expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
          expect(await db.selectFrom('value_changes').selectAll().execute()).toEqual([])
          await night(before)
          expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
        }
      }
    },
  )

  it('does not come back where an earlier search removed it, and a page of its company cannot be read', async () => {
    await first()
    await night([[a('k'), ...others, b()]])
    for (const [, half] of spoilt)
      await night([
        [a('k'), ...others],
        [half, b()],
      ])
    expect(await x()).toEqual([])
  })

  it('stays, marked, where its company was on two pages and is on one, with one without an id', async () => {
    await night([[a('k'), ...others], [a('x')]])
    await night([[company('A', { calculators: [calculator('k'), nameless] }), ...others]])
    expect(await x()).toEqual(marked)
  })

  it.each(spoilt)('goes to the company that shows it, in any order, where one page of two %s', async (_how, half) => {
    for (const order of ordersOf([0, 1, 2])) {
      await first()
      await night([[a('k'), ...others], [half], [b(calculator('x'))]], order)
      expect(await x()).toEqual([{ company: 'B', reason: null, values: 2 }])
    }
  })

  it.each(spoilt)('has no mark where a third page shows it, and one of its company %s', async (_how, half) => {
    for (const order of ordersOf([0, 1, 2])) {
      await first()
      await night([[a('k'), ...others], [half, b()], [a('x')]], order)
      expect(await x()).toEqual([{ company: 'A', reason: null, values: 2 }])
    }
  })

  /** When a search last showed the values of `x`. */
  async function shown() {
    const { rows } = await sql`
      select distinct last_seen_at from calculator_value_history where calculator_id = ${uuid('x')}`.execute(db)
    return rows
  }
})
