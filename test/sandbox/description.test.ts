import { createConfig, lintFromString } from '@redocly/openapi-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Contract } from '../../src/exchange/contract.ts'
import { some } from '../helpers/some.ts'
import { contract, type OpenSandbox, openSandbox } from './open-sandbox.ts'
import { type OpenApi, readDocument } from './read-description.ts'

let sandbox: OpenSandbox
let service: OpenApi
let administration: OpenApi
beforeAll(async () => {
  sandbox = await openSandbox()
  service = await readDocument(`${sandbox.url}${contract.otherEndpoints.description.path}`)
  administration = await readDocument(`${sandbox.url}/sandbox/openapi.json`)
})
afterAll(() => sandbox.close())

/** `POST /path` of every operation that a document has. */
function operationsOf({ paths }: OpenApi): string[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

const endpoints = { ...contract.endpoints, ...contract.otherEndpoints }

const isDeprecated = (name: string) => name.endsWith('V1')

it('the description has every endpoint of the contract that is not deprecated, the result files, and nothing else', () => {
  const current = Object.entries(endpoints).filter(([name]) => !isDeprecated(name))
  const expected = current.map(([, { method, path }]) => `${method} ${path}`)
  expect(operationsOf(service).sort()).toEqual([...expected, 'GET /files/{fileId}'].sort())
})

it('the description has none of the deprecated endpoints, which answer all the same', async () => {
  const deprecated = Object.entries(contract.otherEndpoints).filter(([name]) => isDeprecated(name))
  expect(deprecated).toHaveLength(11)
  for (const [, { method, path }] of deprecated) {
    expect(service.paths).not.toHaveProperty([path])
    const { body } = await sandbox.call<{ errorCode?: string }>(method, path)
    expect([path, body.errorCode]).not.toEqual([path, 'endpoint_not_found'])
  }
})

it('the description has an operation for every kind of event', () => {
  expect(Object.keys(service.webhooks ?? {})).toEqual(['bulkEvent', 'applicationEvent', 'testEvent'])
})

it('the description describes only what is served', async () => {
  const files = new URL(service.paths['/files/{fileId}']?.get?.servers?.[0]?.url ?? '')
  expect(files.origin).not.toBe(new URL(sandbox.url).origin)
  for (const document of [service, administration]) {
    for (const described of operationsOf(document)) {
      const [method = '', path = ''] = described.split(' ')
      const origin = path.startsWith('/files/') ? files : sandbox.url
      const response = await fetch(new URL(path.replaceAll(/[{}]/g, ''), origin), { method })
      const body = (await response.json()) as { errorCode?: string }
      expect(body.errorCode, described).not.toBe('endpoint_not_found')
    }
  }
})

it('the description needs a key for everything but the descriptions and the files', async () => {
  for (const document of [service, administration]) {
    for (const [path, item] of some(Object.entries(document.paths))) {
      for (const [method, { security }] of some(Object.entries(item))) {
        if (path.startsWith('/files/')) continue
        const answer = await sandbox.call(method.toUpperCase(), path, { key: null })
        expect([path, answer.status]).toEqual([path, security?.length === 0 ? 200 : 401])
      }
    }
  }
})

it('the description gives every operation an id of its own', () => {
  for (const { paths } of [service, administration]) {
    const ids = Object.values(paths).flatMap((item) => Object.values(item).map(({ operationId }) => operationId))
    expect(new Set(ids).size).toBe(ids.length)
  }
})

it('the description of a failed row has every member that tells one row from another', () => {
  const { companyId, identifiedByValue, dataPointId, questionId, periodType, year, month } = contract.names.rowError
  const others = [contract.names.companies.propertyId, contract.names.standardHolders.standardId]
  expect(Object.keys(service.components.schemas.RowError?.properties ?? {})).toEqual(
    expect.arrayContaining([companyId, identifiedByValue, dataPointId, questionId, periodType, year, month, ...others]),
  )
})

it('the description says everything in the names of the contract', async () => {
  const renamed: Contract = {
    ...contract,
    endpoints: { ...contract.endpoints, task: { ...contract.endpoints.task, path: '/api/v2/jobs/{correlationId}' } },
    names: {
      ...contract.names,
      task: { ...contract.names.task, status: 'state' },
      companies: { ...contract.names.companies, identifier: 'hotel' },
    },
  }
  const other = await openSandbox({ contract: renamed, companies: 1 })
  try {
    const { paths, components } = await readDocument(`${other.url}${contract.otherEndpoints.description.path}`)
    expect([paths['/api/v2/jobs/{correlationId}']?.get?.operationId, paths[contract.endpoints.task.path]]).toEqual([
      'readTask',
      undefined,
    ])
    const membersOf = (schema: string) => Object.keys(components.schemas[schema]?.properties ?? {})
    expect(membersOf('Task')).toContain('state')
    expect(membersOf('Task')).not.toContain('status')
    expect(membersOf('CompanyPropertyValues')).toEqual(['hotel', 'customProperties'])
  } finally {
    await other.close()
  }
})

describe('the linter finds nothing', () => {
  it.each([
    ['the service', () => service],
    ['the administration API', () => administration],
  ])('the linter finds nothing in the description of %s', async (_what, document) => {
    const config = await createConfig({
      extends: ['recommended'],
      // The one operation that has no 4xx answer is the description itself: it needs no key and takes no parameter.
      rules: { 'operation-4xx-response': 'off' },
    })
    const source = JSON.stringify(document())
    const problems = await lintFromString({ source, config, absoluteRef: 'openapi.json' })
    expect(problems.map(({ ruleId, message, location }) => `${ruleId} ${location[0]?.pointer} ${message}`)).toEqual([])
  })

  it('the linter finds what is wrong', async () => {
    const config = await createConfig({ extends: ['recommended'] })
    const broken = { ...service, paths: { '/nothing': { get: { responses: {} } } } }
    const problems = await lintFromString({ source: JSON.stringify(broken), config, absoluteRef: 'openapi.json' })
    expect(problems.map(({ severity }) => severity)).toContain('error')
  })
})

describe('the check of every answer', () => {
  const answer = { method: 'GET', path: '/api/v1/groups', contentType: 'application/json', status: 200 }
  const id = '5c1f2a3b-0000-4000-8000-000000000000'

  it('takes members that the description does not have', async () => {
    const { checkAnswer } = await sandbox.descriptions()
    checkAnswer({ ...answer, body: [{ id, name: 'All', more: true }] })
  })

  it.each([
    ['a member that is missing', { body: [{ id }] }, "/0 must have required property 'name'"],
    ['a member of another type', { body: [{ id, name: 4 }] }, '/0/name must be string'],
    ['a status that is not described', { status: 404, body: {} }, 'has no such status'],
    ['a path that is not described', { path: '/api/v1/group', body: [] }, 'no description has this operation'],
    ['another content type', { contentType: 'text/html', body: [] }, 'the content type is text/html'],
  ])('refuses %s', async (_what, wrong, reason) => {
    const { checkAnswer } = await sandbox.descriptions()
    expect(() => checkAnswer({ ...answer, ...wrong })).toThrow(reason)
  })
})
