import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { calculator, company, samplePage } from './sample-page.ts'
import { bothWays, everyCalculator, everyCompany, hotels, openNights, whole } from './search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(clear)

describe.each(bothWays)('a search loaded %s', (_way, how) => {
  it('a search keeps the inputs that one page of many lacks, whatever the others show', async () => {
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

  const values = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, '1']))

  it.each(['inputs', 'outputs'] as const)('keeps the calculators with which most of the %s would go', async (group) => {
    const hotel = (name: string, years: [string, number][]) =>
      company(name, {
        calculators: years.map(([year, count]) =>
          calculator(`${name} ${year}`, { inputs: values(1), outputs: values(1), [group]: values(count) }),
        ),
      })
    const names = ['A', 'B', 'C', 'D']
    const full = names.map((name) =>
      hotel(name, [
        ['2025', 1],
        ['2024', 9],
      ]),
    )
    await night([samplePage(full)], how)
    const before = await known()
    const page = samplePage(names.map((name) => hotel(name, [['2025', 1]])))
    const reason = `too_few_${group}`
    for (const again of [1, 2]) {
      expect((await night([page], how)).counts).toMatchObject([{ removed: 0 }])
      expect(await known()).toEqual(before)
      expect(await marks(), `night ${again}`).toEqual([{ part: 'calculator', reason, withheld: true, parts: 4 }])
    }
    expect((await night([page], { ...how, minSeenShare: 0.1 })).counts).toMatchObject([{ removed: 4 * 10 }])
    expect(await marks()).toEqual([])
  })

  it('counts what a page leaves out of its calculators with what would go with those that it lacks', async () => {
    const hotel = (...years: [string, number][]) =>
      company('A', { calculators: years.map(([year, count]) => calculator(`A ${year}`, { inputs: values(count) })) })
    await night([samplePage([hotel(['2025', 6], ['2024', 4])])], how)
    // What is new says nothing about how much is shown of the rest.
    const page = samplePage([hotel(['2025', 4], ['2026', 20])])
    expect((await night([page], how)).counts).toMatchObject([{ removed: 2 }])
    expect(await marks()).toEqual([{ part: 'calculator', reason: 'too_few_inputs', withheld: true, parts: 1 }])
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

it('the view not_renewed says of every part since when and why it was not renewed, and keeps the time of the first night', async () => {
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

it('a search keeps the values of a property that is asked for no more', async () => {
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
