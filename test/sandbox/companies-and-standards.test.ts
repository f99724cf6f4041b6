import { afterAll, beforeAll, expect, it } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { mapHotels, partnerId } from './bodies.ts'
import { type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

const { customIdentifierId, brandPropertyId, roomsPropertyId, otherCustomIdentifierId } = catalogue

let sandbox: OpenSandbox
beforeAll(async () => {
  sandbox = await openSandbox()
  await sandbox.run('companyMappings', mapHotels(1, 2, 3))
})
afterAll(() => sandbox.close())

function properties(identifier: string, ...values: [propertyId: string, value: string][]) {
  return { identifier, customProperties: values.map(([propertyId, value]) => ({ propertyId, value })) }
}

function upsert(...companies: unknown[]) {
  return sandbox.run('companiesUpsert', { customIdentifierId, companies })
}

async function fieldsOf(number: number) {
  const task = await sandbox.run('calculatorsSearch', { customPropertyIds: [brandPropertyId, roomsPropertyId] })
  const companies = (await sandbox.pages(task)).flatMap((page) => page.companies)
  return companies.find(({ id }) => id === companyIdAt(seed, number))?.fields
}

it('replaces what a company has of a property by what is sent, and clears it by a blank', async () => {
  await upsert(properties(partnerId(1), [brandPropertyId, 'B'], [brandPropertyId, 'A'], [roomsPropertyId, '12']))
  expect(await fieldsOf(1)).toEqual({ [brandPropertyId]: ['B', 'A'], [roomsPropertyId]: ['12'] })
  await upsert(properties(partnerId(1), [brandPropertyId, 'C'], [roomsPropertyId, '']))
  expect(await fieldsOf(1)).toEqual({ [brandPropertyId]: ['C'] })
})

it('names the failed values in error rows and stores the others', async () => {
  const task = await upsert(
    properties(partnerId(2), [brandPropertyId, 'Ok'], [roomsPropertyId, 'twelve'], [otherCustomIdentifierId, 'x']),
    properties(partnerId(2), [customIdentifierId, 'H-9']),
    properties('nobody', [brandPropertyId, 'x']),
  )
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map((row) => [row.identifiedByValue, row.reason])).toEqual([
    [partnerId(2), 'value_not_numeric'],
    [partnerId(2), 'custom_property_not_usable'],
    [partnerId(2), 'custom_property_is_identifier'],
    ['nobody', 'company_not_found'],
  ])
  expect(await fieldsOf(2)).toEqual({ [brandPropertyId]: ['Ok'] })
})

it('finds a company by a value that only it has, and fails the rows of a value that several have', async () => {
  await upsert(properties(partnerId(1), [brandPropertyId, 'Solo']))
  await upsert(properties(partnerId(2), [brandPropertyId, 'Twin']), properties(partnerId(3), [brandPropertyId, 'Twin']))
  const questionId = catalogue.frameworks[0]?.topics[0]?.subtopics[0]?.clusters[0]?.questions[0]?.id
  const omit = (value: string) => ({
    identifiedBy: { customProperty: { customPropertyId: brandPropertyId, value } },
    periods: [{ periodType: 'Yearly', year: 2025, omissions: [{ questionId }] }],
  })
  const task = await sandbox.run('frameworkAnswersUpsert', { companies: [omit('Solo'), omit('Twin')] })
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map((row) => [row.identifiedByValue, row.reason])).toEqual([
    ['Twin', 'company_ambiguous'],
  ])
})

it('stores holders of standards and names the failed ones in error rows', async () => {
  const [lantern, horizon] = catalogue.standards
  const holder = (identifier: string, standardId: string | undefined, rest: Record<string, unknown> = {}) => ({
    identifier,
    standardId,
    ...rest,
  })
  const task = await sandbox.run('standardHoldersUpsert', {
    customIdentifierId,
    holders: [
      holder(partnerId(1), lantern?.id, { level: 'Gold', startDate: '2025-01-01', expiryDate: '2026-01-01' }),
      holder(partnerId(1), horizon?.id),
      holder(partnerId(1), lantern?.id, { level: 'Platinum' }),
      holder(partnerId(1), catalogue.groupId),
      holder(partnerId(1), horizon?.id, { startDate: '2025-13-01' }),
      holder(partnerId(1), horizon?.id, { startDate: '2025-02-01', expiryDate: '2025-01-01' }),
      holder('nobody', horizon?.id),
    ],
  })
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map((row) => row.reason)).toEqual([
    'level_not_found',
    'standard_not_found',
    'date_invalid',
    'date_range_reversed',
    'company_not_found',
  ])
  const { rows } = await sandbox.pool.query(
    `select standard_id, level, start_date::text, expiry_date::text from sandbox.standard_holder
     where company_id = $1 order by level nulls last`,
    [companyIdAt(seed, 1)],
  )
  expect(rows).toEqual([
    { standard_id: lantern?.id, level: 'Gold', start_date: '2025-01-01', expiry_date: '2026-01-01' },
    { standard_id: horizon?.id, level: null, start_date: null, expiry_date: null },
  ])
})
