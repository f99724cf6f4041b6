import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { BulkRequest } from '../../src/exchange/contract.ts'
import { dataPointsOf, questionsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt, hotelAt, isKnownToService } from '../../src/sandbox/hotels.ts'
import { patience } from '../helpers/patience.ts'
import { some } from '../helpers/some.ts'
import { identifiedBy, mapHotels, mappingOf, mappings, partnerId } from './bodies.ts'
import type { Task } from './documents.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

const { customIdentifierId, brandPropertyId, roomsPropertyId, otherCustomIdentifierId } = catalogue
const [hotel, coast] = catalogue.frameworks
const [lantern, horizon] = catalogue.standards
const known = Array.from({ length: 60 }, (_, index) => index + 1).filter(isKnownToService)

type Named = { id: string; name: string }
type Fields = Record<string, string[]>
type CompaniesPage = {
  customProperties?: Named[]
  companies: (Named & {
    street: string
    coordinates: { latitude: number; longitude: number }
    countryCode: string
    hotelCode?: string
    bookingId?: string
    fields?: Fields
  })[]
}
type StandardsPage = { standards: { id: string; title: string; levels?: string[] }[] }
type Holder = { companyId: string; standardId: string; level?: string; startDate?: string; expiryDate?: string }
type HoldersPage = { holders: Holder[] }
type Period = {
  periodType: string
  year: number
  month: string
  frameworkIds?: string[]
  answers?: { dataPointId: string; answer: unknown; unitId?: string }[]
  omissions?: { questionId: string }[]
}
type AnswersPage = { customProperties?: Named[]; companies: (Named & { fields?: Fields; periods: Period[] })[] }

let sandbox: OpenSandbox
afterAll(() => sandbox.close())

async function search<T>(kind: BulkRequest, body: unknown = {}, key = 'demo-key'): Promise<T[]> {
  const task = await sandbox.run(kind, body, key)
  expect(task.status).toBe('Success')
  expect(task).not.toHaveProperty('file')
  return withoutTimes(await sandbox.pages(task)) as T[]
}

/** Documents without the moments at which something was changed, which are other ones in every run. */
function withoutTimes(pages: unknown): unknown {
  return JSON.parse(JSON.stringify(pages), (key, value: unknown) => (key === 'changedAt' ? undefined : value))
}

const pointOf = (valueType: string, framework = hotel) => {
  const found = framework && dataPointsOf(framework).find((point) => point.valueType === valueType)
  if (!found) throw new Error(`no data point of type ${valueType}`)
  return found
}
const number = pointOf('number')
const text = pointOf('text')
const list = pointOf('list', coast)
const hotelQuestion = hotel && questionsOf(hotel)[0]
const coastQuestion = coast && questionsOf(coast)[0]
const unitId = number.unitTypes[0]?.units[1]?.id

function upsertAnswers(frameworkId: string | undefined, identified: unknown, ...periods: unknown[]) {
  return sandbox.run('frameworkAnswersUpsert', {
    ...(frameworkId !== undefined && { frameworkId }),
    companies: [{ identifiedBy: identified, periods }],
  })
}

beforeAll(async () => {
  sandbox = await openSandbox({ pageSize: 7 })
  await sandbox.run('companyMappings', mapHotels(1, 2, 3))
  await sandbox.run('companiesUpsert', {
    customIdentifierId,
    companies: [
      {
        identifier: partnerId(1),
        customProperties: [
          { propertyId: brandPropertyId, value: 'Nord' },
          { propertyId: brandPropertyId, value: 'Lys' },
          { propertyId: roomsPropertyId, value: '' },
        ],
      },
    ],
  })
})

describe('the companies search', () => {
  it("lists each company of the profile's groups with its details, leaving out what it does not have", async () => {
    const pages = await search<CompaniesPage>('companiesSearch')
    expect(pages.map((page) => page.companies.length)).toEqual([7, 7, 7, 7, 7, 7, 7, 7, 3])
    expect(pages.flatMap((page) => page.companies)).toEqual(
      known.map((number) => {
        const { name, street, latitude, longitude, countryCode, hotelCode, bookingId } = hotelAt(seed, number)
        return {
          ...{ id: companyIdAt(seed, number), name, street, coordinates: { latitude, longitude }, countryCode },
          ...(hotelCode !== null && { hotelCode }),
          ...(bookingId !== null && { bookingId }),
        }
      }),
    )
    for (const page of some(pages)) expect(page).not.toHaveProperty('customProperties')
  })

  it('shows owned custom properties on every page, and drops the ids of others without a word', async () => {
    const pages = await search<CompaniesPage>('companiesSearch', {
      customPropertyIds: [roomsPropertyId, otherCustomIdentifierId, brandPropertyId, customIdentifierId],
    })
    for (const page of some(pages)) {
      expect(page.customProperties?.map(({ name }) => name)).toEqual(['Rooms', 'Brand', 'Partner id'])
    }
    const withFields = pages.flatMap((page) => page.companies).flatMap(({ fields }) => (fields ? [fields] : []))
    expect(withFields).toEqual([
      { [brandPropertyId]: ['Nord', 'Lys'], [customIdentifierId]: ['H-0001'] },
      { [customIdentifierId]: ['H-0002'] },
      { [customIdentifierId]: ['H-0003'] },
    ])
  })

  it('shows a profile no company outside its groups, and one without groups none', async () => {
    const ids = async (key: string) =>
      (await search<CompaniesPage>('companiesSearch', {}, key)).flatMap((page) => page.companies.map(({ id }) => id))
    expect(await ids('other-key')).toEqual([10, 20, 30, 40, 60].map((number) => companyIdAt(seed, number)))
    expect(await ids('certifier-key')).toEqual([])
  })
})

it('the companies search of a profile shows nothing of what another one keeps of a company, nor when it changed that', async () => {
  const pages = async () =>
    JSON.stringify(await sandbox.pages(await sandbox.run('companiesSearch', { customPropertyIds: [brandPropertyId] })))
  const before = await pages()
  const mapping = mappings([mappingOf(hotelAt(seed, 10))], otherCustomIdentifierId)
  expect((await sandbox.run('companyMappings', mapping, 'other-key')).status).toBe('Success')
  expect(await pages()).toBe(before)
})

it('lists every standard, with its levels where it has any, page by page', async () => {
  const described = catalogue.standards.map(({ id, title, levels }) => ({
    ...{ id, title },
    ...(levels.length > 0 && { levels: [...levels] }),
  }))
  expect(await search<StandardsPage>('standardsSearch')).toEqual([{ standards: described }])
  expect(described.map((standard) => 'levels' in standard)).toEqual([true, false, true])
  await sandbox.stop()
  await sandbox.start({ pageSize: 2 })
  const pages = await search<StandardsPage>('standardsSearch', {}, 'certifier-key')
  expect(pages).toEqual([{ standards: described.slice(0, 2) }, { standards: described.slice(2) }])
  await sandbox.stop()
  await sandbox.start()
})

describe('the standard holders search', () => {
  const lanterns = (number: number): Holder => ({
    companyId: companyIdAt(seed, number),
    standardId: lantern?.id ?? '',
    level: 'Gold',
    startDate: '2025-01-01',
    expiryDate: '2026-02-28',
  })
  const horizons = (number: number): Holder => ({ companyId: companyIdAt(seed, number), standardId: horizon?.id ?? '' })

  beforeAll(async () => {
    const numbers = [1, 2, 3, 10, 11, 12, 13, 14]
    await sandbox.run('companyMappings', mapHotels(...numbers))
    const dates = { level: 'Gold', startDate: '2025-01-01', expiryDate: '2026-02-28' }
    await sandbox.run('standardHoldersUpsert', {
      customIdentifierId,
      holders: numbers.flatMap((number) => [
        { identifier: partnerId(number), standardId: lantern?.id, ...dates },
        ...(number === 2 ? [{ identifier: partnerId(number), standardId: horizon?.id }] : []),
      ]),
    })
  })

  it('lists who holds what, in the order of the companies, leaving out levels and dates that there are none of', async () => {
    const pages = await search<HoldersPage>('standardHoldersSearch')
    expect(pages.map(({ holders }) => holders.length)).toEqual([7, 2])
    const second = [lanterns(2), horizons(2)].toSorted((a, b) => (a.standardId < b.standardId ? -1 : 1))
    expect(pages.flatMap(({ holders }) => holders)).toEqual([
      lanterns(1),
      ...second,
      ...[3, 10, 11, 12, 13, 14].map(lanterns),
    ])
  })

  it('selects by standard, and finds nothing for an id that is none', async () => {
    const standards = async (standardIds: string[]) =>
      (await search<HoldersPage>('standardHoldersSearch', { standardIds })).flatMap(({ holders }) => holders)
    expect(await standards([horizon?.id.toUpperCase() ?? ''])).toEqual([horizons(2)])
    expect(await standards(['no uuid'])).toEqual([])
    expect(await standards([catalogue.groupId])).toEqual([])
  })

  it('shows a profile only what companies of its groups hold', async () => {
    const [page] = await search<HoldersPage>('standardHoldersSearch', {}, 'other-key')
    expect(page?.holders).toEqual([lanterns(10)])
  })
})

describe('the framework answers search', () => {
  const companiesOf = async (body: unknown = {}, key?: string) =>
    (await search<AnswersPage>('frameworkAnswersSearch', body, key)).flatMap((page) => page.companies)
  const periodsOf = async (number: number, body: unknown = {}) =>
    (await companiesOf(body)).find(({ id }) => id === companyIdAt(seed, number))?.periods

  const answers = {
    number: { dataPointId: number.id, answer: { number: 12.5 }, unitId },
    text: { dataPointId: text.id, answer: { text: 'Тест "🌿"' } },
    list: { dataPointId: list.id, answer: { list: list.options.slice(0, 2).map(({ id }) => id) } },
  }

  beforeAll(async () => {
    await upsertAnswers(hotel?.id, identifiedBy(1), {
      ...{ periodType: 'Yearly', year: 2025 },
      answers: [answers.number, answers.text],
      omissions: [{ questionId: hotelQuestion?.id }],
    })
    await upsertAnswers(
      coast?.id,
      identifiedBy(1),
      { periodType: 'Yearly', year: 2025, answers: [answers.list] },
      { periodType: 'Yearly', year: 2024, month: 'april', omissions: [{ questionId: coastQuestion?.id }] },
    )
    await upsertAnswers(undefined, identifiedBy(1), {
      ...{ periodType: 'Monthly', year: 2025, month: 'March', answers: [answers.number] },
    })
    await upsertAnswers(undefined, identifiedBy(2), { periodType: 'Yearly', year: 2025, answers: [answers.text] })
  })

  const byId = <T extends { dataPointId: string }>(list: T[]) =>
    list.toSorted((a, b) => (a.dataPointId < b.dataPointId ? -1 : 1))

  it('gives answers and omissions as they were sent, by period, with the frameworks assigned to it', async () => {
    expect(await periodsOf(1)).toEqual([
      {
        ...{ periodType: 'Yearly', year: 2024, month: 'April' },
        frameworkIds: [coast?.id],
        omissions: [{ questionId: coastQuestion?.id }],
      },
      {
        ...{ periodType: 'Yearly', year: 2025, month: 'January' },
        frameworkIds: [hotel, coast].map((framework) => framework?.id ?? '').toSorted(),
        answers: byId(Object.values(answers)),
        omissions: [{ questionId: hotelQuestion?.id }],
      },
      { periodType: 'Monthly', year: 2025, month: 'March', answers: [answers.number] },
    ])
    expect(await periodsOf(2)).toEqual([
      { periodType: 'Yearly', year: 2025, month: 'January', answers: [answers.text] },
    ])
  })

  it('lists a company that has reported nothing, with an empty list of periods', async () => {
    const companies = await companiesOf()
    expect(companies.map(({ id }) => id)).toEqual(known.map((number) => companyIdAt(seed, number)))
    expect(companies[3]).toEqual({ id: companyIdAt(seed, 4), name: hotelAt(seed, 4).name, periods: [] })
  })

  it('narrows to the periods assigned to the frameworks asked for, and to their data points and questions', async () => {
    expect(await periodsOf(1, { frameworkIds: [hotel?.id] })).toEqual([
      {
        ...{ periodType: 'Yearly', year: 2025, month: 'January' },
        frameworkIds: [hotel?.id],
        answers: byId([answers.number, answers.text]),
        omissions: [{ questionId: hotelQuestion?.id }],
      },
    ])
    expect((await periodsOf(1, { frameworkIds: [hotel?.id, coast?.id] }))?.map(({ year }) => year)).toEqual([
      2024, 2025,
    ])
    expect(await periodsOf(2, { frameworkIds: [hotel?.id] })).toEqual([])
    expect(await periodsOf(1, { frameworkIds: [catalogue.groupId] })).toEqual([])
  })

  it('keeps the last of two answers to the same data point and period', async () => {
    const latest = { ...answers.number, answer: { number: 99 } }
    const period = { periodType: 'Yearly', year: 2021 }
    await upsertAnswers(undefined, identifiedBy(3), { ...period, answers: [answers.number, latest] })
    expect((await periodsOf(3))?.[0]?.answers).toEqual([latest])
    await upsertAnswers(undefined, identifiedBy(3), { ...period, answers: [{ ...answers.number, unitId: unitId }] })
    expect((await periodsOf(3))?.[0]?.answers).toEqual([answers.number])
  })

  it("shows custom properties like the other searches, and no company outside the profile's groups", async () => {
    const pages = await search<AnswersPage>('frameworkAnswersSearch', {
      customPropertyIds: [brandPropertyId, otherCustomIdentifierId],
    })
    for (const page of some(pages)) expect(page.customProperties).toEqual([{ id: brandPropertyId, name: 'Brand' }])
    expect(pages[0]?.companies[0]?.fields).toEqual({ [brandPropertyId]: ['Nord', 'Lys'] })
    expect(pages[0]?.companies[1]).not.toHaveProperty('fields')
    const others = await companiesOf({}, 'other-key')
    expect(others.map(({ id }) => id)).toEqual([10, 20, 30, 40, 60].map((number) => companyIdAt(seed, number)))
  })
})

it('the sandbox shows everything as it was when the search began to read, whatever is stored while it goes on', async () => {
  const client = await sandbox.pool.connect()
  await client.query('begin')
  await client.query('lock table sandbox.property_value in access exclusive mode')
  const id = await sandbox.submit('companiesSearch', { customPropertyIds: [brandPropertyId] })
  await vi.waitFor(async () => {
    const { rows } = await sandbox.pool.query(
      `select 1 from pg_locks join pg_database d on d.oid = database
       where datname = current_database() and relation = 'sandbox.property_value'::regclass and not granted`,
    )
    if (rows.length === 0) throw new Error('the search has not come to the values yet')
  }, patience)
  await client.query("update sandbox.property_value set value = 'later'")
  await client.query('commit')
  client.release()
  const fields = async (task: Task) =>
    ((await sandbox.pages(task)) as unknown as CompaniesPage[])[0]?.companies[0]?.fields
  expect(await fields(await sandbox.finished(id))).toEqual({ [brandPropertyId]: ['Nord', 'Lys'] })
  const after = await sandbox.run('companiesSearch', { customPropertyIds: [brandPropertyId] })
  expect(await fields(after)).toEqual({ [brandPropertyId]: ['later', 'later'] })
})
