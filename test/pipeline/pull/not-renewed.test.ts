import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { FinishOptions } from '../../../src/pipeline/pull/search/finish-search.ts'
import { emptyTables } from '../../helpers/empty-tables.ts'
import { bodyOf, calculator, company, type SamplePage, samplePage } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(
    db,
    [
      'company',
      'custom_property',
      'company_property',
      'calculator_variable',
      'calculator',
      'calculator_value',
      'search_seen_company',
      'search_seen_calculator',
      'quarantine',
      'page_listing',
      'unrenewed_part',
      'removed_value',
      'removed_property',
    ],
    true,
  )
})

type How = Parameters<SearchDatabase['load']>[2]
const ways: [string, How][] = [
  ['fast', {}],
  ['with care', { careful: true, reading: 'tokens' }],
]

async function night(pages: readonly unknown[], how: How = {}, finish: FinishOptions = {}) {
  const listed = await database.search(pages.length)
  const counts = []
  for (const [index, page] of listed.entries()) counts.push(await database.load(page, bodyOf(pages[index]), how))
  return { counts, finished: await database.finish(listed[0]?.submission_id ?? 0, finish), listed }
}

/** All that is known, as people see it. */
async function known() {
  const { rows: values } = await sql`
    select calculator_id, company_id, direction, variable_id, variable_name, value from calculator_values order by 1, 3, 4
  `.execute(db)
  const { rows: properties } = await sql`
    select company_id, property_id, property_name, ordinal, value from company_properties order by 1, 2, 4`.execute(db)
  const { rows: calculators } = await sql`
    select calculator_id, company_id, title, period_year, period_month, removed_at is null as here from calculators
    order by 1`.execute(db)
  const { rows: companies } = await sql`
    select company_id, name, removed_at is null as here from companies order by 1`.execute(db)
  return { values, properties, calculators, companies }
}

const marks = async () => {
  const { rows } = await sql<{ part: string; reason: string; withheld: boolean; parts: number }>`
    select part, reason, withheld, count(*) as parts from not_renewed group by 1, 2, 3 order by 1, 2`.execute(db)
  return rows
}

const hotels = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    company(`hotel ${index}`, {
      fields: { brand: [`brand ${index}`, 'second'], rooms: [`${index + 10}`] },
      calculators: [
        calculator(`k${index}/2025`, {
          inputs: { electricity: `${index}.5`, gas: '7' },
          outputs: { total: `${index}` },
        }),
        calculator(`k${index}/2024`, { period: { year: 2024 } }),
      ],
    }),
  )

const whole = (): SamplePage[] => [samplePage(hotels(4)), samplePage(hotels(8).slice(4))]

/** Every value of the page made into something else; undefined leaves it out. */
function everyValue(page: SamplePage, value: unknown): unknown {
  const changed = (group: Record<string, string> | undefined) =>
    group && Object.fromEntries(Object.keys(group).map((id) => [id, value]))
  return {
    ...page,
    companies: page.companies.map((one) => ({
      ...one,
      calculators: one.calculators.map((k) => ({ ...k, inputs: changed(k.inputs), outputs: changed(k.outputs) })),
    })),
  }
}

/** Members of every company, or of every calculator, replaced; undefined leaves them out. */
const everyCompany = (page: SamplePage, over: object) => ({
  ...page,
  companies: page.companies.map((one) => ({ ...one, ...over })),
})
const everyCalculator = (page: SamplePage, over: object) => ({
  ...page,
  companies: page.companies.map((one) => ({
    ...one,
    calculators: one.calculators.map((k) => ({ ...k, ...over })),
  })),
})

/** Each with what it marks: 40 values, 24 property values and 16 calculators of 8 companies are known. */
const damages: [string, (page: SamplePage) => unknown, object[]][] = [
  [
    'lacks the list of variables',
    ({ calculatorVariables: _, ...page }) => page,
    [{ part: 'value', reason: 'variable_not_listed', withheld: false, parts: 40 }],
  ],
  [
    'has an empty list of variables',
    (page) => ({ ...page, calculatorVariables: [] }),
    [{ part: 'value', reason: 'variable_not_listed', withheld: false, parts: 40 }],
  ],
  [
    'has null for every value',
    (page) => everyValue(page, null),
    [{ part: 'value', reason: 'no_text', withheld: false, parts: 40 }],
  ],
  [
    'has a number for every value',
    (page) => everyValue(page, 12.5),
    [{ part: 'value', reason: 'no_text', withheld: false, parts: 40 }],
  ],
  [
    'has a blank for every value',
    (page) => everyValue(page, ' '),
    [{ part: 'value', reason: 'blank', withheld: false, parts: 40 }],
  ],
  [
    'lacks all inputs and outputs',
    (page) => everyCalculator(page, { inputs: undefined, outputs: undefined }),
    [
      { part: 'value', reason: 'too_few_inputs', withheld: true, parts: 24 },
      { part: 'value', reason: 'too_few_outputs', withheld: true, parts: 16 },
    ],
  ],
  [
    'lacks all inputs and has all outputs',
    (page) => everyCalculator(page, { inputs: undefined }),
    [{ part: 'value', reason: 'too_few_inputs', withheld: true, parts: 24 }],
  ],
  [
    'has null for all outputs',
    (page) => everyCalculator(page, { outputs: null }),
    [{ part: 'value', reason: 'no_object', withheld: false, parts: 16 }],
  ],
  [
    'has a text for all outputs',
    (page) => everyCalculator(page, { outputs: 'x' }),
    [{ part: 'calculator', reason: 'no_object', withheld: false, parts: 16 }],
  ],
  [
    'lacks the list of custom properties',
    ({ customProperties: _, ...page }) => page,
    [{ part: 'property', reason: 'property_not_listed', withheld: false, parts: 24 }],
  ],
  [
    'lacks the custom properties, and the companies theirs',
    ({ customProperties: _, ...page }) => everyCompany(page, { fields: undefined }),
    [{ part: 'property', reason: 'property_left_out', withheld: true, parts: 24 }],
  ],
  [
    'lists the custom properties, and no company has one',
    (page) => everyCompany(page, { fields: undefined }),
    [{ part: 'property', reason: 'too_few_properties', withheld: true, parts: 24 }],
  ],
  [
    'has null for the fields of every company',
    (page) => everyCompany(page, { fields: null }),
    [{ part: 'property', reason: 'no_object', withheld: false, parts: 24 }],
  ],
  [
    'has null in place of one value of every list',
    (page) => everyCompany(page, { fields: { brand: [null, 'new'], rooms: ['99', 5] } }),
    [{ part: 'property', reason: 'no_text', withheld: false, parts: 24 }],
  ],
  [
    'has no calculators',
    (page) => everyCompany(page, { calculators: [] }),
    [{ part: 'calculator', reason: 'too_few_calculators', withheld: true, parts: 16 }],
  ],
  [
    'has null for the calculators of every company',
    (page) => everyCompany(page, { calculators: null }),
    [{ part: 'company', reason: 'no_array', withheld: false, parts: 8 }],
  ],
  [
    'has calculators without an id',
    (page) => everyCalculator(page, { id: null }),
    [{ part: 'calculator', reason: 'unidentified_calculators', withheld: false, parts: 16 }],
  ],
  [
    'has no companies',
    () => ({ companies: [] }),
    [{ part: 'company', reason: 'too_few_companies', withheld: true, parts: 8 }],
  ],
  [
    'has companies without an id',
    (page) => everyCompany(page, { id: null }),
    [{ part: 'company', reason: 'unidentified_companies', withheld: false, parts: 8 }],
  ],
  [
    'has null for every name',
    (page) =>
      JSON.parse(
        JSON.stringify(page, (key, value: unknown) => (key === 'name' || key === 'title' ? null : value)),
      ) as unknown,
    [
      { part: 'calculator_title', reason: 'no_text', withheld: false, parts: 16 },
      { part: 'company_name', reason: 'no_text', withheld: false, parts: 8 },
      { part: 'property', reason: 'property_not_listed', withheld: false, parts: 24 },
      { part: 'property_name', reason: 'no_text', withheld: false, parts: 2 },
      { part: 'value', reason: 'variable_not_listed', withheld: false, parts: 40 },
      { part: 'variable_name', reason: 'no_text', withheld: false, parts: 3 },
    ],
  ],
]

describe.each(ways)('a search loaded %s', (_way, how) => {
  it.each(damages)(
    'of which every page %s removes nothing that is known, and marks it',
    async (_name, damage, marked) => {
      await night(whole(), how)
      const before = await known()
      expect([before.values, before.properties].map((rows) => rows.length)).toEqual([40, 24])
      await night(whole().map(damage), how)
      expect(await known()).toEqual(before)
      expect(await marks()).toEqual(marked)
      // The same again says nothing new; and a night that is right takes the marks off.
      await night(whole().map(damage), how)
      expect(await marks()).toEqual(marked)
      await night(whole(), how)
      expect(await marks()).toEqual([])
      expect(await known()).toEqual(before)
      expect(await db.selectFrom('removals').selectAll().execute()).toEqual([])
    },
  )

  it('of which one page of many lacks all inputs keeps them, whatever the others show', async () => {
    const pages = [...whole(), samplePage(hotels(40).slice(8))]
    await night(pages, how)
    const before = await known()
    const [first, ...others] = pages
    if (first === undefined) throw new Error('there is no page')
    const { finished } = await night([everyCalculator(first, { inputs: undefined }), ...others], how)
    expect(finished).toMatchObject({ withheld: false })
    expect(await known()).toEqual(before)
    expect(await marks()).toEqual([{ part: 'value', reason: 'too_few_inputs', withheld: true, parts: 12 }])
  })

  it('keeps the value that stood where one is quarantined, and removes what the same calculator lacks', async () => {
    await night(whole(), how)
    const pages = whole()
    const [k] = pages[0]?.companies[0]?.calculators ?? []
    if (k?.inputs === undefined) throw new Error('there is no calculator')
    Object.assign(k, { inputs: { electricity: null } })
    expect((await night(pages, how)).counts).toMatchObject([{ removed: 1, quarantined: 1 }, {}])
    const of = await db
      .selectFrom('calculator_values')
      .select(['variable_id', 'value', 'not_renewed_reason'])
      .where('calculator_id', '=', k.id)
      .orderBy('variable_id')
      .execute()
    expect(of).toEqual([
      { variable_id: 'electricity', value: '0.5', not_renewed_reason: 'no_text' },
      { variable_id: 'total', value: '0', not_renewed_reason: null },
    ])
    expect(await db.selectFrom('removals').select(['variable_id', 'value']).execute()).toEqual([
      { variable_id: 'gas', value: '7' },
    ])
  })

  it('keeps the whole group where one key of it is none', async () => {
    await night(whole(), how)
    const before = await known()
    const pages = whole()
    const [k] = pages[0]?.companies[0]?.calculators ?? []
    Object.assign(k ?? {}, { inputs: { ['e'.repeat(300)]: '5', gas: '7' } })
    await night(pages, how)
    expect(await known()).toEqual(before)
    expect(await marks()).toEqual([{ part: 'value', reason: 'id_too_long', withheld: false, parts: 1 }])
  })

  it('keeps a month that becomes null, and takes away one that is absent', async () => {
    await night(whole(), how)
    const before = await known()
    await night(
      whole().map((page) => everyCalculator(page, { period: { year: 2024, month: null } })),
      how,
    )
    expect(await known()).toEqual({
      ...before,
      calculators: before.calculators,
    })
    await night(
      whole().map((page) => everyCalculator(page, { period: { year: 2024 } })),
      how,
    )
    const months = await db.selectFrom('calculators').select('period_month').distinct().execute()
    expect(months).toEqual([{ period_month: null }])
  })

  it('keeps what another listing of a company or a calculator may hold', async () => {
    await night(whole(), how)
    const before = await known()
    const pages = whole()
    const [first] = pages
    const [one] = first?.companies ?? []
    if (first === undefined || one === undefined) throw new Error('there is no company')
    const [k] = one.calculators
    if (k === undefined) throw new Error('there is no calculator')
    const bare = { ...one, fields: {}, calculators: [{ ...k, inputs: {}, outputs: {} }] }
    await night([{ ...first, companies: [bare, ...first.companies] }, pages[1]], how)
    expect(await known()).toEqual(before)
    const twice = { ...one, calculators: [{ ...k, inputs: {} }, ...one.calculators] }
    await night([{ ...first, companies: [twice, ...first.companies.slice(1)] }, pages[1]], how)
    expect(await known()).toEqual(before)
  })

  it('removes what is absent by the rules: an output, all inputs of one calculator, a property, a calculator, a company', async () => {
    await night(whole(), how)
    const [first, second] = whole()
    const [a, b, ...others] = first?.companies ?? []
    const [k, ...rest] = a?.calculators ?? []
    if (first === undefined || k === undefined || b === undefined) throw new Error('there is no company')
    const { outputs: _, ...noOutputs } = k
    const { inputs: __, ...noInputs } = b.calculators[0] ?? k
    const companies = [
      { ...a, fields: { brand: ['brand 0'] }, calculators: [noOutputs, ...rest] },
      { ...b, calculators: [noInputs] },
      ...others,
    ]
    await night(
      [
        { ...first, companies },
        { ...second, companies: second?.companies.slice(1) },
      ],
      how,
    )
    const { values, properties, calculators, companies: left } = await known()
    expect([values.length, properties.length]).toEqual([40 - 1 - 2 - 2 - 5, 24 - 2 - 3])
    expect(calculators.filter((row) => (row as { here: boolean }).here)).toHaveLength(16 - 1 - 2)
    expect(left.filter((row) => (row as { here: boolean }).here)).toHaveLength(7)
    expect(await marks()).toEqual([])
    expect(await db.selectFrom('removals').selectAll().execute()).toHaveLength(10 + 5)
  })

  it('withholds the company that holds most of the values, and says so', async () => {
    const large = company('large', {
      calculators: [
        calculator('l', { inputs: Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`v${n}`, '1'])) }),
      ],
    })
    await night([samplePage([large, ...hotels(4)])], how)
    const before = await known()
    expect((await night([samplePage(hotels(4))], how)).finished).toMatchObject({
      withheld: true,
      reason: 'too_few_inputs',
    })
    expect(await known()).toEqual(before)
    expect(await marks()).toEqual([{ part: 'company', reason: 'too_few_inputs', withheld: true, parts: 1 }])
    expect((await night([samplePage(hotels(4))], how, { minSeenShare: 0 })).finished).toMatchObject({ companies: 1 })
    expect(await marks()).toEqual([])
  })
})

it('says of every part since when and why it was not renewed, and keeps the time of the first night', async () => {
  const page = samplePage(hotels(4))
  await night([page])
  await night([everyCompany(page, { calculators: null })])
  const since = async () =>
    (await db.selectFrom('companies').select(['not_renewed_since', 'not_renewed_reason']).distinct().execute())[0]
  const first = await since()
  expect(first).toMatchObject({ not_renewed_since: expect.any(Date), not_renewed_reason: 'no_array' })
  await night([{ companies: [] }])
  expect(await since()).toEqual({ ...first, not_renewed_reason: 'too_few_companies' })
  for (const view of ['calculators', 'calculator_values', 'company_properties'] as const) {
    const rows = await db.selectFrom(view).select(['not_renewed_since', 'not_renewed_reason']).distinct().execute()
    expect(rows, view).toEqual([await since()])
  }
})

it('keeps the values of a property that is asked for no more', async () => {
  await night(whole())
  const before = await known()
  const page = whole().map(({ customProperties, companies, ...rest }) => ({
    ...rest,
    customProperties: customProperties?.filter(({ id }) => id === 'rooms'),
    companies: companies.map(({ fields, ...one }) => ({ ...one, fields: { rooms: fields?.rooms } })),
  }))
  await night(page)
  expect(await known()).toEqual(before)
  expect(await marks()).toEqual([{ part: 'property', reason: 'property_left_out', withheld: true, parts: 16 }])
})
