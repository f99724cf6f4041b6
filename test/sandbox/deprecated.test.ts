import { describe, expect, it } from 'vitest'
import { dataPointsOf } from '../../src/sandbox/catalogue/frameworks.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { some } from '../helpers/some.ts'
import { mapHotels, partnerId } from './bodies.ts'
import type { CustomProperty, MappingFile, Task } from './documents.ts'
import { contract, openSandbox, seed } from './open-sandbox.ts'

const { customIdentifierId, brandPropertyId } = catalogue
const old = contract.otherEndpoints

const sandbox = await ofThisFile(openSandbox({ pageSize: 20 }))

/** Sends a body to a path and waits for the task's end. */
async function run({ path }: { path: string }, body: unknown, key = 'demo-key'): Promise<Task> {
  const answer = await sandbox.call<{ correlationId: string }>('POST', path, { key, body })
  expect(answer.status).toBe(200)
  return sandbox.finished(answer.body.correlationId, key)
}

async function latest({ path }: { path: string }, key = 'demo-key') {
  return sandbox.call<{ pageUrls: string[]; errorCode: string }>('GET', path, { key })
}

/** Without what differs from one reading to the next. */
function withoutSignature(urls: readonly string[] | undefined): string[] {
  return (urls ?? []).map((url) => url.split('?')[0] ?? url)
}

describe('before any search has finished', () => {
  it.each([old.companiesLatestFileV1, old.standardsLatestFileV1])('there is no latest file at $path', async (place) => {
    const { status, body } = await latest(place)
    expect([status, body.errorCode]).toEqual([404, 'file_not_found'])
  })
})

it('companies/upsert maps companies, as a mapping request whose type is null', async () => {
  const task = await run(old.companiesUpsertV1, mapHotels(1, 2, 3))
  expect(task).toMatchObject({ status: 'Success', taskKind: 'CompanyMappingRequest', requestType: null })
  const { companies } = await sandbox.file<MappingFile>(task)
  expect(companies.map(({ companyId }) => companyId)).toEqual([1, 2, 3].map((number) => companyIdAt(seed, number)))
})

it('performance-answers/upsert stores answers as framework answers', async () => {
  const point = catalogue.frameworks
    .flatMap(dataPointsOf)
    .find(({ valueType, reportingPeriodType }) => valueType === 'boolean' && reportingPeriodType === 'Yearly')
  const periods = [
    { periodType: 'Yearly', year: 2025, answers: [{ dataPointId: point?.id, answer: { boolean: true } }] },
  ]
  const task = await run(old.performanceAnswersUpsertV1, {
    companies: [{ identifiedBy: { companyId: companyIdAt(seed, 1) }, periods }],
  })
  expect(task).toMatchObject({ status: 'Success', requestType: 'BulkUpsertFrameworkAnswers' })
  const { rows } = await sandbox.pool.query('select value from sandbox.answer where data_point_id = $1', [point?.id])
  expect(rows).toEqual([{ value: { boolean: true } }])
})

describe('consolidated/upsert-standard-holders', () => {
  const standard = catalogue.standards.find(({ levels }) => levels.length === 0)
  const companies = (number: number) => [
    { identifier: partnerId(number), customProperties: [{ propertyId: brandPropertyId, value: 'Aurora' }] },
  ]
  const holders = (number: number) => [{ identifier: partnerId(number), standardId: standard?.id }]

  it('stores both lists of one request, with one outcome', async () => {
    const task = await run(old.standardHoldersUpsertV1, {
      customIdentifierId,
      companies: companies(1),
      holders: [...holders(1), { identifier: 'nobody', standardId: standard?.id }],
    })
    expect(task).toMatchObject({ status: 'PartialSuccess', taskKind: 'BulkProcessingRequest' })
    expect(task.error?.rowErrors.map(({ identifiedByValue }) => identifiedByValue)).toEqual(['nobody'])
    const values = await sandbox.pool.query('select value from sandbox.property_value where company_id = $1', [
      companyIdAt(seed, 1),
    ])
    const held = await sandbox.pool.query('select standard_id from sandbox.standard_holder where company_id = $1', [
      companyIdAt(seed, 1),
    ])
    expect([values.rows, held.rows]).toEqual([[{ value: 'Aurora' }], [{ standard_id: standard?.id }]])
  })

  it.each([
    ['companies', { companies: companies(2) }],
    ['holders', { holders: holders(3) }],
    ['nothing', {}],
  ])('takes a request with %s alone', async (_what, lists) => {
    expect((await run(old.standardHoldersUpsertV1, { customIdentifierId, ...lists })).status).toBe('Success')
  })

  it('takes both lists also where the path is written with escapes', async () => {
    const path = old.standardHoldersUpsertV1.path.replace('upsert-standard', 'upsert%2Dstandard')
    const answer = await fetch(sandbox.url + path, {
      method: 'POST',
      headers: { authorization: 'demo-key', 'content-type': 'application/json' },
      body: JSON.stringify({ customIdentifierId, companies: companies(2) }),
    })
    const { correlationId } = (await answer.json()) as { correlationId: string }
    expect((await sandbox.finished(correlationId)).status).toBe('Success')
  })

  it('answers 400 without an identifier and 403 for one of another profile', async () => {
    const post = async (id?: string) => {
      const body = { customIdentifierId: id, holders: [] }
      return (await sandbox.call('POST', old.standardHoldersUpsertV1.path, { body })).status
    }
    expect([await post(), await post(catalogue.otherCustomIdentifierId)]).toEqual([400, 403])
  })
})

it.each([
  ['companies', old.companiesSearchV1, 'companiesSearch', { customPropertyIds: [brandPropertyId] }],
  ['standards', old.standardsSearchV1, 'standardsSearch', {}],
  ['framework answers', old.frameworkAnswersSearchV1, 'frameworkAnswersSearch', {}],
  ['calculators', old.calculatorsSearchV1, 'calculatorsSearch', {}],
] as const)(
  'the v1 search for %s has the pages and the request type of its successor',
  async (_what, place, kind, body) => {
    const before = await run(place, body)
    const after = await sandbox.run(kind, body)
    expect([before.status, before.requestType]).toEqual(['Success', after.requestType])
    expect(await sandbox.pages(before)).toEqual(await sandbox.pages(after))
  },
)

it('latest-file has the pages of the search that finished last, through whichever version', async () => {
  const places = [
    [old.companiesLatestFileV1, old.companiesSearchV1, 'companiesSearch'],
    [old.standardsLatestFileV1, old.standardsSearchV1, 'standardsSearch'],
  ] as const
  for (const [place, v1, kind] of some(places)) {
    for (const search of [() => run(v1, {}), () => sandbox.run(kind, {})]) {
      const task = await search()
      const { status, body } = await latest(place)
      expect(status).toBe(200)
      expect(withoutSignature(body.pageUrls)).toEqual(withoutSignature(task.pageUrls))
      expect((await fetch(body.pageUrls[0] ?? '')).status).toBe(200)
    }
  }
})

it('latest-file shows a profile only its own searches', async () => {
  expect((await latest(old.companiesLatestFileV1, 'other-key')).status).toBe(404)
  const task = await run(old.companiesSearchV1, {}, 'other-key')
  const own = await latest(old.companiesLatestFileV1, 'other-key')
  expect(withoutSignature(own.body.pageUrls)).toEqual(withoutSignature(task.pageUrls))
  const demo = await latest(old.companiesLatestFileV1)
  expect(withoutSignature(demo.body.pageUrls)).not.toEqual(withoutSignature(task.pageUrls))
})

it('bulk/status answers for any task of the profile, v1 or v2, as the task endpoint does', async () => {
  const status = (id: string, key = 'demo-key') =>
    sandbox.call<Task>('GET', old.statusV1.path.replace('{correlationId}', id), { key })
  for (const task of [await run(old.companiesUpsertV1, mapHotels(4)), await sandbox.run('standardsSearch', {})]) {
    const { body } = await status(task.correlationId)
    const strip = ({ pageUrls, file, ...rest }: Task) => [
      rest,
      withoutSignature([...(pageUrls ?? []), file?.url ?? '']),
    ]
    expect(strip(body)).toEqual(strip(await sandbox.task(task.correlationId)))
    expect((await status(task.correlationId, 'other-key')).status).toBe(404)
  }
  expect((await status('nonsense')).status).toBe(404)
})

it('custom-identifiers are the custom properties that are identifiers', async () => {
  const all = await sandbox.call<CustomProperty[]>('GET', contract.endpoints.customProperties.path)
  const identifiers = await sandbox.call<CustomProperty[]>('GET', old.customIdentifiersV1.path)
  expect(identifiers.body).toEqual(all.body.filter(({ isIdentifier }) => isIdentifier))
  expect(identifiers.body.length).toBeLessThan(all.body.length)
})
