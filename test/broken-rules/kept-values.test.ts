import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { at, isObject, objectsOf } from '../../src/conformance/wire-json.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { conform } from '../conformance/conform.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { companies, ends, files } from './broken-rule.ts'
import type { Hooks, Json } from './broken-service.ts'
import { everything, openBroken } from './judge-broken.ts'

const service = await ofThisFile(openBroken())
const { identifier } = everything.writing
const brand = catalogue.brandPropertyId

async function send(method: string, path: string, body?: unknown): Promise<Json> {
  const answer = await fetch(service.url + path, {
    method,
    headers: { authorization: 'demo-key', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return (await answer.json()) as Json
}

async function run(path: string, body: unknown): Promise<Json> {
  const { correlationId } = await send('POST', path, body)
  for (;;) {
    const task = await send('GET', `/api/v2/bulk/tasks/${String(correlationId)}`)
    if (ends.includes(String(task.status))) return task
    await delay(20)
  }
}

/** The hotel on the pages of the calculator search. */
async function hotel(): Promise<Json> {
  const task = await run('/api/v2/bulk/calculators/search', { customPropertyIds: [brand] })
  for (const url of task.pageUrls as string[]) {
    const page = (await (await fetch(url)).json()) as Json
    const found = objectsOf(page.companies).find(({ id }) => id === everything.writing.companyId)
    if (found) return found
  }
  throw new Error('the hotel is on no page')
}

const store = (...values: string[]) =>
  run('/api/v2/bulk/companies/upsert', {
    customIdentifierId: catalogue.customIdentifierId,
    companies: [{ identifier, customProperties: values.map((value) => ({ propertyId: brand, value })) }],
  })

const shownOtherwise: [string, Hooks][] = [
  ['spells the values of the companies search otherwise', companies('BulkGetCompanies', (company) => renamed(company))],
  [
    'spells the values of the calculator search otherwise',
    files('BulkGetCompanyCalculators', (page) => {
      delete page.customProperties
      for (const company of objectsOf(page.companies)) renamed(company)
    }),
  ],
  [
    'leaves the hotel out of the calculator search',
    files('BulkGetCompanyCalculators', (page) => {
      page.companies = objectsOf(page.companies).filter(({ id }) => id !== everything.writing.companyId)
    }),
  ],
]

test.each(shownOtherwise)('the value of a property stays where the service %s', async (_what, hooks) => {
  service.break({})
  await store('Harbour')
  expect((await hotel()).fields).toEqual({ [brand]: ['Harbour'] })
  service.break(hooks)
  const only = ['service/area-imports', 'versioning/deprecated/consolidated-upsert'] as const
  const { entries } = await conform(service.url, { ...everything, only })
  expect(entries.map(({ verdict }) => verdict)).not.toContain('differs')
  service.break({})
  expect((await hotel()).fields).toEqual({ [brand]: ['Harbour'] })
})

test('several values of one property stay', async () => {
  service.break({})
  await store('Harbour', 'Quay')
  await conform(service.url, { ...everything, only: ['service/area-imports'] })
  expect((await hotel()).fields).toEqual({ [brand]: ['Harbour', 'Quay'] })
})

describe('inputs that stood in the months that are written to', () => {
  const year = 1987
  const fed = (value: string) =>
    run('/api/v1/bulk/calculators/upsert', {
      groupId: catalogue.groupId,
      customIdentifierId: catalogue.customIdentifierId,
      companies: [
        {
          identifier,
          calculators: catalogue.everyFieldType.map(({ id }) => ({
            period: { year, month: 'March' },
            inputs: [{ fieldTypeId: id, value }],
          })),
        },
      ],
    })
  const inputs = async () =>
    objectsOf((await hotel()).calculators)
      .filter((one) => at(one, 'period', 'year') === year && at(one, 'period', 'month') === 'March')
      .map((one) => one.inputs)
  const judged = async () => {
    const writing = { ...everything.writing, year }
    const { entries } = await conform(service.url, { ...everything, writing, only: ['calculator-upsert/field-type'] })
    return entries.map(({ verdict }) => verdict)
  }
  const standing = async () => {
    service.break({})
    await fed('4711')
    const before = await inputs()
    expect(before.flatMap((one) => Object.values(isObject(one) ? one : {})).length).toBeGreaterThan(1)
    return before
  }

  test('stand there again', async () => {
    const before = await standing()
    expect(await judged()).toEqual(['holds'])
    expect(await inputs()).toEqual(before)
  })

  test('stand there again where the pages that show them cannot be had after they were written', async () => {
    const before = await standing()
    let written = false
    const cut = service.break({
      answer: ({ method, path, answer: { json } }) => {
        written ||= method === 'POST' && path.endsWith('/calculators/upsert')
        if (written && isObject(json) && Array.isArray(json.pageUrls)) json.pageUrls = ['http://127.0.0.1:9/gone']
      },
    })
    expect(await judged()).not.toEqual(['holds'])
    expect(cut.changes()).toBeGreaterThan(0)
    service.break({})
    await vi.waitFor(async () => expect(await inputs()).toEqual(before), { timeout: 60_000, interval: 200 })
  })
})

function renamed(company: Json): void {
  company.values = company.fields
  delete company.fields
}
