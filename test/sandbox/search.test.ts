import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as world from '../../src/sandbox/catalogue/calculator-types.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, hotelAt, isKnownToService } from '../../src/sandbox/hotels.ts'
import { some } from '../helpers/some.ts'
import { calculators, inputsOf, mapHotels, mappings, partnerId } from './bodies.ts'
import type { Page } from './documents.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

const { customIdentifierId, brandPropertyId, otherCustomIdentifierId } = catalogue
const { electricity, mainsWater, residualWaste } = world

let sandbox: OpenSandbox
beforeAll(async () => {
  sandbox = await openSandbox({ pageSize: 7 })
  await sandbox.run('companyMappings', mapHotels(1, 2, 9))
  await sandbox.run('companyMappings', mappings([{ id: 'alias', hotelCode: hotelAt(seed, 1).hotelCode }]))
  await sandbox.run(
    'calculatorsUpsert',
    calculators([
      inputsOf(partnerId(1), { year: 2025, month: 'December' }, { [electricity.id]: '10', [mainsWater.id]: '2' }),
      inputsOf(partnerId(2), { year: 2024 }, { [mainsWater.id]: '3' }),
      inputsOf(partnerId(9), { year: 2024 }, { [electricity.id]: '4' }),
    ]),
  )
})
afterAll(() => sandbox.close())

async function search(body: unknown = {}, key = 'demo-key'): Promise<Page[]> {
  const task = await sandbox.run('calculatorsSearch', body, key)
  expect(task).toMatchObject({ status: 'Success', requestType: 'BulkGetCompanyCalculators' })
  return sandbox.pages(task)
}

const known = Array.from({ length: 60 }, (_, index) => index + 1).filter(isKnownToService)
const companiesOf = (pages: Page[]) => pages.flatMap((page) => page.companies)

it("lists each company of the profile's groups once, a page of them per file", async () => {
  const pages = await search()
  expect(pages.map((page) => page.companies.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 3])
  expect(companiesOf(pages).map(({ id }) => id)).toEqual(known.map((number) => companyIdAt(seed, number)))
  expect(companiesOf(pages).map(({ name }) => name)).toEqual(known.map((number) => hotelAt(seed, number).name))
})

it('the sandbox ends without an empty page when the last one is full', async () => {
  const { rows } = await sandbox.pool.query('select count(*)::int as n from sandbox.company')
  await sandbox.stop()
  await sandbox.start({ pageSize: rows[0].n })
  expect(await search()).toHaveLength(1)
  await sandbox.stop()
  await sandbox.start()
})

it('the sandbox gives a company without calculators an empty list', async () => {
  const pages = await search()
  const third = companiesOf(pages).find(({ id }) => id === companyIdAt(seed, 3))
  expect(third).toEqual({ id: companyIdAt(seed, 3), name: hotelAt(seed, 3).name, calculators: [] })
})

it('lists the variables of a page on that page only, and leaves the list out where there are none', async () => {
  const pages = await search()
  const listed = pages.map((page) => page.calculatorVariables?.map(({ id }) => id))
  for (const [index, page] of some(pages.entries())) {
    const used = page.companies.flatMap((company) =>
      company.calculators.flatMap(({ inputs, outputs }) => Object.keys({ ...inputs, ...outputs })),
    )
    expect(listed[index]?.toSorted()).toEqual(used.length === 0 ? undefined : [...new Set(used)].toSorted())
  }
  expect(listed[2]).toBeUndefined()
  expect(pages[1]?.calculatorVariables?.find(({ id }) => id === electricity.id)?.name).toBe(electricity.name)
  expect(listed[1]).not.toContain(mainsWater.id)
})

it('names the month on monthly calculators only', async () => {
  const found = companiesOf(await search()).flatMap((company) => company.calculators)
  const periods = found.map(({ period }) => period)
  expect(periods).toEqual([...Array(2).fill({ year: 2025, month: 'December' }), { year: 2024 }, { year: 2024 }])
})

it('the sandbox selects calculators by type, and no type means every type', async () => {
  const types = async (calculatorTypeIds?: string[]) =>
    companiesOf(await search({ calculatorTypeIds })).flatMap((company) => company.calculators.map((c) => c.typeId))
  const carbon = world.carbonFootprint.id
  const water = world.waterFootprint.id
  expect((await types([water.toUpperCase()])).toSorted()).toEqual([water, water])
  expect(await types([catalogue.groupId])).toEqual([])
  expect(await types(['no uuid'])).toEqual([])
  expect((await types([])).toSorted()).toEqual([carbon, carbon, water, water].toSorted())
  expect(await types()).toHaveLength(4)
})

it('the sandbox leaves the list of variables out where no calculator carries a value, though there is one', async () => {
  const input = (value: string) => calculators([inputsOf(partnerId(9), { year: 2018 }, { [residualWaste.id]: value })])
  await sandbox.run('calculatorsUpsert', input('1'))
  await sandbox.run('calculatorsUpsert', input(''))
  const pages = await search({ calculatorTypeIds: [world.wasteFootprint.id] })
  const [blank, ...others] = companiesOf(pages).flatMap((company) => company.calculators)
  expect(others).toEqual([])
  expect(Object.keys(blank ?? {})).toEqual(['id', 'typeId', 'title', 'period'])
  for (const page of some(pages)) expect(page).not.toHaveProperty('calculatorVariables')
})

describe('custom properties', () => {
  it('custom properties are absent when none were requested', async () => {
    for (const page of [...(await search()), ...(await search({ customPropertyIds: [] }))]) {
      expect(page).not.toHaveProperty('customProperties')
      for (const company of some(page.companies)) expect(company).not.toHaveProperty('fields')
    }
  })

  it('custom properties are the owned ones of the request, in its order and the same on every page, with values or without', async () => {
    const pages = await search({ customPropertyIds: [brandPropertyId, otherCustomIdentifierId, customIdentifierId] })
    for (const page of some(pages)) {
      expect(page.customProperties).toEqual([
        { id: brandPropertyId, name: 'Brand' },
        { id: customIdentifierId, name: 'Partner id' },
      ])
    }
    const fields = companiesOf(pages).flatMap((company) => (company.fields ? [company.fields] : []))
    expect(fields).toEqual([
      { [customIdentifierId]: ['H-0001', 'alias'] },
      { [customIdentifierId]: ['H-0002'] },
      { [customIdentifierId]: ['H-0009'] },
    ])
  })

  it('custom properties are an empty list when only foreign ones were requested', async () => {
    const [page] = await search({ customPropertyIds: [otherCustomIdentifierId] })
    expect(page?.customProperties).toEqual([])
  })
})

it('the sandbox shows a profile only the companies of its own groups, and adds those that it maps', async () => {
  const numbers = async () => {
    const ids = companiesOf(await search({}, 'other-key')).map(({ id }) => id)
    return known.filter((number) => ids.includes(companyIdAt(seed, number)))
  }
  expect(await numbers()).toEqual([10, 20, 30, 40, 60])
  const [first] = mapHotels(11).companies
  await sandbox.run('companyMappings', mappings([first], otherCustomIdentifierId), 'other-key')
  expect(await numbers()).toEqual([10, 11, 20, 30, 40, 60])
})
