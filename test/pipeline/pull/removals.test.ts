import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { removeOld } from '../../../src/db/housekeeping/remove-old.ts'
import { acceptRemovalsOf, bringBack } from '../../../src/pipeline/actions/act-on-rows.ts'
import { countAcceptable, countUnrenewed } from '../../../src/pipeline/pull/removals/take-removals.ts'
import { unrenewedRemarks } from '../../../src/pipeline/report/report-words.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SamplePage, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'page_listing', 'action'], true)
})

/** A search of one page, or of several. */
async function night(pages: unknown, minSeenShare = 0.5) {
  const bodies: unknown[] = Array.isArray(pages) ? pages : [pages]
  const listed = await database.search(bodies.length)
  for (const [index, page] of listed.entries()) await database.load(page, bodyOf(bodies[index]), { minSeenShare })
  return await database.finish(listed[0]?.submission_id ?? 0, { minSeenShare })
}

async function known() {
  const { rows: values } = await sql`
    select calculator_id, direction, variable_id, value from calculator_values order by 1, 2, 3`.execute(db)
  const { rows: properties } = await sql`
    select company_id, property_id, ordinal, value from company_properties order by 1, 2, 3`.execute(db)
  const { rows: here } = await sql`
    select company_id, calculator_id from calculators where removed_at is null order by 1, 2`.execute(db)
  return { values, properties, here }
}

const reasons = async () => {
  const { rows } = await sql<{ part: string; reason: string; parts: number }>`
    select part, reason, count(*) as parts from not_renewed group by 1, 2 order by 1, 2`.execute(db)
  return rows
}

const names = ['A', 'B', 'C', 'D']
const whole = () => samplePage(names.map((name) => company(name, { fields: { brand: [name] } })))
const bare = ({ companies, ...page }: SamplePage, over: object, from = 0) => ({
  ...page,
  companies: companies.map((one, index) =>
    index < from ? one : { ...one, calculators: one.calculators.map((k) => ({ ...k, ...over })) },
  ),
})
const noValues = { inputs: undefined, outputs: undefined }

const actor = { user: 'ada', host: 'ferry' }
const deps = { db, now: () => new Date('2026-11-22T12:00:00Z') }
const accept = (filter = {}) => acceptRemovalsOf(deps, filter, actor, async () => {})
const bringBackBy = (filter = {}) => bringBack(deps, filter, actor, async () => {})
const nothing = { companies: 0, calculators: 0, values: 0, properties: 0 }

it('accepting removes what is withheld, and nothing that could only not be read', async () => {
  await night(whole())
  const damaged = bare(whole(), noValues)
  damaged.companies[0] = { ...damaged.companies[0], calculators: null } as never
  await night(damaged)
  expect(await reasons()).toEqual([
    { part: 'company', reason: 'no_array', parts: 1 },
    { part: 'value', reason: 'too_few_inputs', parts: 3 },
    { part: 'value', reason: 'too_few_outputs', parts: 3 },
  ])
  expect(await accept()).toEqual({ ...nothing, values: 6 })
  expect(await reasons()).toEqual([{ part: 'company', reason: 'no_array', parts: 1 }])
  expect((await known()).values).toHaveLength(2)
  expect(await accept()).toEqual(nothing)
  const actions = await db.selectFrom('action').select(['verb', 'acted_by', 'rows', 'result']).execute()
  expect(actions).toEqual([
    {
      verb: 'accept-removals',
      acted_by: 'ada',
      rows: 6,
      result: '6 values, 0 property values, 0 calculators, 0 companies removed',
    },
  ])
  // The next night says the same, and nothing is withheld over again.
  await night(damaged)
  expect(await reasons()).toEqual([{ part: 'company', reason: 'no_array', parts: 1 }])
})

it('accepting by a reason removes what stands for that reason, and nothing else', async () => {
  await night(whole())
  const damaged = bare(whole(), { inputs: { electricity: null }, outputs: undefined })
  await night(damaged)
  expect(await accept({ reason: 'no_text' })).toEqual({ ...nothing, values: 4 })
  expect(await reasons()).toEqual([{ part: 'value', reason: 'too_few_outputs', parts: 4 }])
})

it('accepting takes what the remark of a report counts, and leaves what a person has brought back', async () => {
  await night(whole())
  await night(bare(whole(), { inputs: undefined }, 2), 0)
  await bringBackBy()
  await night(bare(bare(whole(), { outputs: undefined }, 1), { inputs: undefined }, 2))
  const before = await known()
  const { remarks, notices } = unrenewedRemarks(await countUnrenewed(db))
  expect(remarks).toEqual([expect.stringContaining('does not show 3 values (too_few_outputs')])
  expect(notices).toEqual([expect.stringContaining('accept-removals --reason restored')])
  expect(await countAcceptable(db, {})).toMatchObject([{ reason: 'too_few_outputs', parts: 3 }])
  expect(await accept()).toEqual({ ...nothing, values: 3 })
  const inputs = ({ values }: typeof before) => values.filter((one) => (one as { direction: string }).direction === 'i')
  expect(inputs(await known())).toEqual(inputs(before))
  expect(await accept({ reason: 'restored' })).toEqual({ ...nothing, values: 2 })
})

it('accepting leaves a company that a search withheld as long as it holds what a person has brought back', async () => {
  await night(whole())
  await night(bare(whole(), { inputs: undefined }, 2), 0)
  await bringBackBy()
  expect(await night({ companies: [] })).toMatchObject({ withheld: true })
  const { remarks } = unrenewedRemarks(await countUnrenewed(db))
  expect(remarks).toEqual([expect.stringContaining('does not show 2 companies (too_few_companies')])
  expect(await accept()).toEqual({ companies: 2, calculators: 2, values: 4, properties: 2 })
  expect((await known()).values).toHaveLength(4)
  expect(await accept({ reason: 'restored' })).toMatchObject({ companies: 2, values: 4 })
})

it.each([
  ['company', () => ({ companies: [] }), { companies: 2, calculators: 2, values: 4, properties: 2 }],
  ['calculator', () => withCalculators([]), { ...nothing, calculators: 2, values: 4 }],
])('accepting leaves what came back into a %s withheld before, and takes the rest', async (_, later, taken) => {
  await night(whole())
  await night(bare(whole(), { inputs: undefined }, 2), 0)
  await night(later())
  await bringBackBy()
  const { remarks } = unrenewedRemarks(await countUnrenewed(db))
  expect(remarks).toEqual([expect.stringContaining('does not show 2 ')])
  expect(await accept()).toEqual(taken)
  expect((await known()).values).toHaveLength(4)
  expect(await accept({ reason: 'restored' })).toMatchObject({ values: 4 })
})

it('accepting removes companies that a search did not show, with all of theirs, and they come back by themselves', async () => {
  await night(whole())
  const before = await known()
  expect(await night({ companies: [] })).toMatchObject({ withheld: true })
  expect(await accept()).toEqual({ companies: 4, calculators: 4, values: 8, properties: 4 })
  expect(await known()).toEqual({ values: [], properties: [], here: [] })
  expect(await reasons()).toEqual([])
  await night(whole())
  expect(await known()).toEqual(before)
})

it('accepting leaves what the search in hand has shown again, as it was, and takes what it only could not read', async () => {
  await night(whole())
  const before = await known()
  await night({ companies: [] })
  const [page] = await database.search()
  if (page === undefined) throw new Error('there is one')
  expect(await database.load(page, bodyOf(whole()))).toMatchObject({ unchanged: 4 })
  expect(await countAcceptable(db, {})).toEqual([])
  expect(await accept()).toEqual(nothing)
  expect(await accept({ reason: 'too_few_companies' })).toEqual(nothing)
  await database.finish(page.submission_id)
  expect(await known()).toEqual(before)
  expect(await reasons()).toEqual([])

  await night({ companies: [] }, 0)
  await bringBackBy()
  const [unreadable] = await database.search()
  if (unreadable === undefined) throw new Error('there is one')
  await database.load(unreadable, bodyOf(withCalculators(null)))
  expect(await accept({ reason: 'restored' })).toMatchObject({ companies: 4 })
})

it('what was removed can be brought back whole, and no search removes it again before one has shown it', async () => {
  await night(whole())
  const before = await known()
  await night({ companies: [] }, 0)
  expect(await known()).toEqual({ values: [], properties: [], here: [] })
  expect(await bringBackBy()).toEqual({ companies: 4, calculators: 4, values: 8, properties: 4 })
  expect(await known()).toEqual(before)
  for (const page of [{ companies: [] }, bare(whole(), noValues), bare(whole(), noValues, 2)]) {
    await night(page, 0)
    expect(await known()).toEqual(before)
  }
  await night(whole(), 0)
  expect(await reasons()).toEqual([])
  expect(await bringBackBy()).toEqual(nothing)
})

const withCalculators = (calculators: unknown) => ({
  ...whole(),
  companies: whole().companies.map((one) => ({ ...one, calculators })),
})

it.each([
  ['calculator', withCalculators([]), bare(whole(), { typeId: null })],
  ['company', { companies: [] }, withCalculators(null)],
])(
  'a %s that was brought back stays although a page gives it in a form that cannot be read before it is absent again',
  async (_, without, unreadable) => {
    await night(whole())
    const before = await known()
    await night(without, 0)
    await bringBackBy()
    await night(unreadable, 0)
    await night(without, 0)
    expect(await known()).toEqual(before)
  },
)

it('values that were brought back stay beside what their calculator has, and go when a person lets them', async () => {
  await night(whole())
  const before = await known()
  const without = bare(whole(), { outputs: undefined })
  await night(without, 0)
  expect(await bringBackBy()).toEqual({ ...nothing, values: 4 })
  await night(without, 0)
  expect(await known()).toEqual(before)
  expect(await reasons()).toEqual([{ part: 'value', reason: 'restored', parts: 4 }])
  expect(await accept({ reason: 'restored' })).toEqual({ ...nothing, values: 4 })
  expect((await known()).values).toHaveLength(4)
  await night(without, 0)
  expect((await known()).values).toHaveLength(4)
})

describe('a value that was brought back while what holds it stood', () => {
  const input = (values: unknown[]) => values.filter((one) => (one as { direction: string }).direction === 'input')

  it.each([
    ['calculator is absent from its company', withCalculators([])],
    ['company is absent', { companies: [] }],
  ])('stays when its %s, and goes with it when a person lets it', async (_, without) => {
    await night(whole())
    const before = await known()
    await night(bare(whole(), { inputs: undefined }), 0)
    await bringBackBy()
    for (const _again of [1, 2]) {
      await night(without, 0)
      expect((await known()).values).toEqual(before.values)
      expect((await known()).here).toEqual(before.here)
    }
    expect(await reasons()).toContainEqual({ part: 'value', reason: 'restored', parts: 4 })
    await accept({ reason: 'restored' })
    expect((await known()).here).toEqual([])
  })

  it('stays in a property of a company that is absent, which stands until it is shown', async () => {
    await night(whole())
    const before = await known()
    await night({ ...whole(), companies: whole().companies.map((one) => ({ ...one, fields: {} })) }, 0)
    await bringBackBy()
    await night({ companies: [] }, 0)
    expect(await known()).toEqual(before)
    expect(await reasons()).toEqual([
      { part: 'company', reason: 'restored', parts: 4 },
      { part: 'property', reason: 'restored', parts: 4 },
    ])
    await night(whole(), 0)
    expect(await reasons()).toEqual([])
    await night({ companies: [] }, 0)
    expect((await known()).here).toEqual([])
  })

  it('does not make a company one that a search shows as absent, where the search proves nothing', async () => {
    await night(whole())
    await night(bare(whole(), { inputs: undefined }), 0)
    await bringBackBy()
    await night({ companies: [{ ...company('E'), id: null }] }, 0)
    expect(await reasons()).toEqual([
      { part: 'company', reason: 'unidentified_companies', parts: 4 },
      { part: 'value', reason: 'restored', parts: 4 },
    ])
    expect(await accept()).toEqual(nothing)
    expect(await accept({ reason: 'restored' })).toEqual({ ...nothing, values: 4 })
  })

  it.each([
    ['one page', 1],
    ['two pages', 2],
  ])('keeps its calculator, and not another, where their company is on %s', async (_, pages) => {
    const a = (...calculators: ReturnType<typeof calculator>[]) => ({
      ...whole(),
      companies: [company('A', { calculators })],
    })
    const other = calculator('other')
    await night(a(calculator('k'), other))
    await night(a(calculator('k', { inputs: {} }), other), 0)
    await bringBackBy()
    await night(Array(pages).fill(a(calculator('k', { inputs: {} }), other)), 0)
    await night(Array(pages).fill(a()), 0)
    expect((await known()).here).toEqual([{ company_id: uuid('A'), calculator_id: uuid('k') }])
    expect(await reasons()).toEqual([
      { part: 'calculator', reason: 'restored', parts: 1 },
      { part: 'value', reason: 'restored', parts: 1 },
    ])
  })

  it('stays where its calculator moves to another company', async () => {
    await night(whole())
    const before = await known()
    await night(bare(whole(), { inputs: undefined }), 0)
    await bringBackBy()
    const moved = bare(whole(), { inputs: undefined })
    const [a, b, ...rest] = moved.companies
    if (a === undefined || b === undefined) throw new Error('there are four')
    const page = {
      ...moved,
      companies: [{ ...a, calculators: [] }, { ...b, calculators: [...b.calculators, ...a.calculators] }, ...rest],
    }
    await night(page, 0)
    await night(page, 0)
    expect(input((await known()).values)).toEqual(input(before.values))
    expect(await reasons()).toEqual([{ part: 'value', reason: 'restored', parts: 4 }])
  })
})

it('what another value has taken the place of is not brought back', async () => {
  await night(whole())
  await night(bare(whole(), { outputs: undefined }), 0)
  await night(bare(whole(), { outputs: { total: '9' } }, 2), 0)
  const before = await known()
  expect(await bringBackBy()).toEqual(nothing)
  expect(await known()).toEqual(before)
})

it('what was removed of one run or one hotel is brought back alone', async () => {
  await night(whole())
  await night(bare(whole(), { outputs: undefined }, 2), 0)
  const { submission_id } = await db.selectFrom('submission').select('submission_id').executeTakeFirstOrThrow()
  const company_id = whole().companies[2]?.id ?? ''
  await db.deleteFrom('mapping').execute()
  await db.insertInto('mapping').values({ partner_id: 'H-3', company_id, submission_id }).execute()
  expect(await bringBackBy({ runId: 999 })).toEqual(nothing)
  expect(await bringBackBy({ partnerId: 'H-3' })).toEqual({ ...nothing, values: 1 })
  expect(await bringBackBy()).toEqual({ ...nothing, values: 1 })
})

it('what was removed longer ago than is wanted is forgotten', async () => {
  await night(whole())
  await night({ companies: [] }, 0)
  await sql`update removed_value set removed_at = now() - interval '31 days' where direction = 'i'`.execute(db)
  await sql`update removed_property set removed_at = now() - interval '29 days'`.execute(db)
  expect(await removeOld(db, 'removed_values', new Date(Date.now() - 30 * 86_400_000))).toBe(4)
  expect(await bringBackBy()).toEqual({ companies: 4, calculators: 4, values: 4, properties: 4 })
})
