import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { mapHotels, partnerId } from './bodies.ts'
import { contract, type OpenSandbox, openSandbox, seed } from './open-sandbox.ts'

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

it('the sandbox replaces what a company has of a property by what is sent, and clears it by a blank', async () => {
  await upsert(properties(partnerId(1), [brandPropertyId, 'B'], [brandPropertyId, 'A'], [roomsPropertyId, '12']))
  expect(await fieldsOf(1)).toEqual({ [brandPropertyId]: ['B', 'A'], [roomsPropertyId]: ['12'] })
  await upsert(properties(partnerId(1), [brandPropertyId, 'C'], [roomsPropertyId, '']))
  expect(await fieldsOf(1)).toEqual({ [brandPropertyId]: ['C'] })
})

it('names the failed values in error rows and stores the others', async () => {
  const task = await upsert(
    properties(partnerId(2), [brandPropertyId, 'Ok'], [roomsPropertyId, 'twelve']),
    properties(partnerId(2), [customIdentifierId, 'H-9']),
    properties('nobody', [brandPropertyId, 'x']),
  )
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map((row) => [row.identifiedByValue, row.reason])).toEqual([
    [partnerId(2), 'value_not_numeric'],
    [partnerId(2), 'custom_property_is_identifier'],
    ['nobody', 'company_not_found'],
  ])
  expect(await fieldsOf(2)).toEqual({ [brandPropertyId]: ['Ok'] })
})

it.each([
  ['of another profile', otherCustomIdentifierId],
  ['that exists nowhere', 'H-1'],
])('answers 403 to values of a property %s, and stores nothing of the request', async (_whose, propertyId) => {
  await upsert(properties(partnerId(3), [brandPropertyId, 'Before']))
  const companies = [properties(partnerId(3), [brandPropertyId, 'After'], [propertyId, 'x'])]
  for (const path of [contract.endpoints.companiesUpsert.path, contract.otherEndpoints.standardHoldersUpsertV1.path]) {
    const { status, body } = await sandbox.call('POST', path, { body: { customIdentifierId, companies, holders: [] } })
    expect([status, body.errorCode]).toEqual([403, 'custom_property_not_accessible'])
  }
  expect(await fieldsOf(3)).toEqual({ [brandPropertyId]: ['Before'] })
})

it('names an identifier that nobody has in an error row, also where it comes without a value', async () => {
  const alone = await upsert(properties('nobody'))
  expect([alone.status, alone.error?.rowErrors]).toEqual([
    'Error',
    [expect.objectContaining({ identifiedByValue: 'nobody', reason: 'company_not_found' })],
  ])
  const beside = await upsert(
    properties('nobody'),
    properties(partnerId(1)),
    properties(partnerId(1), [brandPropertyId, 'Y']),
  )
  expect([beside.status, beside.error?.rowErrors.length]).toEqual(['PartialSuccess', 1])
})

it('the sandbox finds a company by a value that only it has, and fails the rows of a value that several have', async () => {
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

it('the sandbox stores holders of standards and names the failed ones in error rows', async () => {
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

it('the sandbox repeats property and standard of a failed row as they were sent, and stores by them in any letter case', async () => {
  await sandbox.run('companyMappings', mapHotels(5))
  const capitals = roomsPropertyId.toUpperCase()
  const values = await upsert(properties(partnerId(5), [roomsPropertyId, '1'], [capitals, 'many'], [capitals, '2']))
  expect(values.error?.rowErrors).toMatchObject([{ propertyId: capitals }])
  expect((await fieldsOf(5))?.[roomsPropertyId]).toEqual(['1', '2'])
  const standardId = catalogue.standards[0]?.id.toUpperCase()
  const holder = { identifier: partnerId(5), standardId }
  const holders = await sandbox.run('standardHoldersUpsert', {
    customIdentifierId,
    holders: [
      { ...holder, standardId: standardId?.toLowerCase() },
      { ...holder, level: 'Gold' },
      { ...holder, level: 'Tin' },
      { ...holder, standardId: 'No Standard' },
    ],
  })
  expect(holders.error?.rowErrors).toMatchObject([{ standardId }, { standardId: 'No Standard' }])
  const { rows } = await sandbox.pool.query('select level from sandbox.standard_holder where company_id = $1', [
    companyIdAt(seed, 5),
  ])
  expect(rows).toEqual([{ level: 'Gold' }])
})

it('the sandbox fails the one holder whose date Postgres does not know, and stores the others', async () => {
  const holder = { identifier: partnerId(1), standardId: catalogue.standards[1]?.id }
  const task = await sandbox.run('standardHoldersUpsert', {
    customIdentifierId,
    holders: [
      { ...holder, startDate: '0001-01-01' },
      { ...holder, startDate: '0000-01-01' },
      { ...holder, expiryDate: '0000-12-31' },
    ],
  })
  expect(task.status).toBe('PartialSuccess')
  expect(task.error?.rowErrors.map(({ reason }) => reason)).toEqual(['date_invalid', 'date_invalid'])
})

it("the sandbox fails the rows of companies that the key's profile cannot access, and stores nothing for them", async () => {
  const outside = companyIdAt(seed, 2)
  await sandbox.pool.query('delete from sandbox.group_company where company_id = $1', [outside])
  const [lantern] = catalogue.standards
  const values = await upsert(properties(partnerId(2), [brandPropertyId, 'Out']))
  const holders = await sandbox.run('standardHoldersUpsert', {
    customIdentifierId,
    holders: [{ identifier: partnerId(2), standardId: lantern?.id }],
  })
  for (const { status, error } of [values, holders]) {
    expect([status, error?.rowErrors.map(({ reason }) => reason)]).toEqual(['Error', ['company_not_accessible']])
  }
  const { rows } = await sandbox.pool.query(
    `select value from sandbox.property_value where company_id = $1 and value = 'Out'
     union all select level from sandbox.standard_holder where company_id = $1`,
    [outside],
  )
  expect(rows).toEqual([])
  await sandbox.pool.query('insert into sandbox.group_company values ($1, $2)', [catalogue.groupId, outside])
})

it('the sandbox takes no property for the name of a company but one of type String', async () => {
  await upsert(properties(partnerId(1), [roomsPropertyId, '77']))
  const questionId = catalogue.frameworks[0]?.topics[0]?.subtopics[0]?.clusters[0]?.questions[0]?.id
  const task = await sandbox.run('frameworkAnswersUpsert', {
    companies: [
      {
        identifiedBy: { customProperty: { customPropertyId: roomsPropertyId, value: '77' } },
        periods: [{ periodType: 'Yearly', year: 2025, omissions: [{ questionId }] }],
      },
    ],
  })
  expect(task.error?.rowErrors.map(({ reason }) => reason)).toEqual(['custom_property_not_usable'])
})

describe('the consolidated request', () => {
  const { method, path } = contract.otherEndpoints.standardHoldersUpsertV1
  const [lantern, horizon] = catalogue.standards
  const submit = async (body: Record<string, unknown>) => {
    const answer = await sandbox.call<{ correlationId: string }>(method, path, {
      body: { customIdentifierId, ...body },
    })
    expect(answer.status).toBe(200)
    return sandbox.finished(answer.body.correlationId)
  }
  const holdersOf = async (number: number) => {
    const pages = await sandbox.pages(await sandbox.run('standardHoldersSearch', {}))
    const holders = pages.flatMap(
      (page) => (page as unknown as { holders: { companyId: string; level: string }[] }).holders,
    )
    return holders.filter(({ companyId }) => companyId === companyIdAt(seed, number)).map(({ level }) => level)
  }

  it('stores property values and standards in one task with one outcome', async () => {
    const task = await submit({
      companies: [properties(partnerId(3), [brandPropertyId, 'Both'])],
      holders: [{ identifier: partnerId(3), standardId: lantern?.id, level: 'Silver' }],
    })
    expect([task.status, task.requestType]).toEqual(['Success', 'BulkUpsertStandardHolders'])
    expect(await fieldsOf(3)).toEqual({ [brandPropertyId]: ['Both'] })
    expect(await holdersOf(3)).toEqual(['Silver'])
  })

  it('names the failed rows of both lists, those of the companies first', async () => {
    const task = await submit({
      companies: [properties('nobody', [brandPropertyId, 'x']), properties(partnerId(3), [brandPropertyId, 'Again'])],
      holders: [
        { identifier: partnerId(3), standardId: horizon?.id },
        { identifier: 'no one', standardId: horizon?.id },
      ],
    })
    expect(task.status).toBe('PartialSuccess')
    expect(task.error?.rowErrors.map((row) => row.identifiedByValue)).toEqual(['nobody', 'no one'])
    expect(await fieldsOf(3)).toEqual({ [brandPropertyId]: ['Again'] })
    const { body } = await sandbox.call<{ rows: { outcome: string }[] }>(
      'GET',
      `/sandbox/tasks/${task.correlationId}/report`,
    )
    expect(body.rows.map(({ outcome }) => outcome)).toEqual(['failed', 'accepted', 'accepted', 'failed'])
  })

  it('takes either list alone', async () => {
    expect((await submit({ companies: [properties(partnerId(3), [brandPropertyId, 'Alone'])] })).status).toBe('Success')
    expect((await submit({ holders: [{ identifier: partnerId(3), standardId: horizon?.id }] })).status).toBe('Success')
    expect(await fieldsOf(3)).toEqual({ [brandPropertyId]: ['Alone'] })
  })
})
