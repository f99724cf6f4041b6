import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ConformanceResult } from '../../src/conformance/run-conformance.ts'
import { companyIdAt } from '../../src/sandbox/hotels.ts'
import { testPool } from '../helpers/test-pool.ts'
import { conform, contract, notHolding, openService, seed, writing } from './conform.ts'

let service: Awaited<ReturnType<typeof openService>>
let pool: pg.Pool

beforeAll(async () => {
  service = await openService()
  pool = testPool(service.databaseUrl, 1)
})

afterAll(async () => {
  await pool.end()
  await service.close()
})

/** Every request that was not a GET, as the service logged it. */
async function sentToChange(): Promise<string[]> {
  const { rows } = await pool.query<{ call: string }>(
    `select distinct method || ' ' || path as call from sandbox.request_log
     where phase = 'received' and method <> 'GET' order by 1`,
  )
  return rows.map(({ call }) => call)
}

async function stored(): Promise<Record<string, string>> {
  const { rows } = await pool.query<Record<string, string>>(
    `select (select count(*) from sandbox.identifier) as identifiers, (select count(*) from sandbox.answer) as answers,
            (select count(*) from sandbox.omission) as omissions, (select count(*) from sandbox.calculator) as calculators,
            (select count(*) from sandbox.property_value) as values, (select count(*) from sandbox.standard_holder) as holders,
            (select count(*) from sandbox.group_company) as members`,
  )
  return rows[0] ?? {}
}

describe('without leave to write', () => {
  let result: ConformanceResult
  let before: Record<string, string>

  beforeAll(async () => {
    before = await stored()
    result = await conform(service.url)
  })

  test('sends searches and cancels its own, and nothing else', async () => {
    const { endpoints, otherEndpoints } = contract
    const searches = Object.entries({ ...endpoints, ...otherEndpoints })
      .filter(([name]) => /Search(V1)?$/.test(name))
      .map(([, { method, path }]) => `${method} ${path}`)
    const calls = await sentToChange()
    expect(calls.length).toBeGreaterThan(5)
    const cancelled = /^POST \/api\/v2\/bulk\/tasks\/[0-9a-f-]{36}\/cancel$/
    expect(calls.filter((call) => !searches.includes(call) && !cancelled.test(call))).toEqual([])
  })

  test('leaves everything that the service stores of companies as it was', async () => {
    expect(await stored()).toEqual(before)
  })

  test('finds no difference, and lists what it could not observe with the reason', () => {
    expect(result.entries.filter(({ verdict }) => verdict === 'differs')).toEqual([])
    expect(result.names.filter(({ verdict }) => verdict === 'differs')).toEqual([])
    const reasons = result.entries.filter(({ verdict }) => verdict === 'not observed')
    expect(reasons.length).toBe(result.counts['not observed'])
    expect(reasons.find(({ id }) => id === 'errors/foreign-ids')?.seen).toMatch(/--group/)
    expect(reasons.find(({ id }) => id === 'delivery/ladder')?.seen).toMatch(/--administration/)
    expect(reasons.filter(({ seen }) => seen.trim() === '')).toEqual([])
  })

  test('sees what reading alone can show', () => {
    expect(result.counts.holds).toBeGreaterThan(80)
    const held = new Set(result.entries.filter(({ verdict }) => verdict === 'holds').map(({ id }) => id))
    for (const id of [
      'processing-rules/1',
      'page/custom-properties',
      'endpoints/cancel',
      'versioning/deprecated/status',
    ]) {
      expect(held, id).toContain(id)
    }
  })
})

test('the suite changes that one hotel and no other once it may write', async () => {
  const companyId = companyIdAt(seed, 3)
  const result = await conform(service.url, { writing: { ...writing, companyId } })
  expect(result.entries.filter(({ verdict }) => verdict === 'differs')).toEqual([])
  const { rows } = await pool.query<{ company_id: string }>(
    `select company_id from sandbox.identifier union select company_id from sandbox.answer
     union select company_id from sandbox.omission union select company_id from sandbox.calculator
     union select company_id from sandbox.company_setting union select company_id from sandbox.property_value
     union select company_id from sandbox.framework_assignment union select company_id from sandbox.standard_holder`,
  )
  expect(rows).toEqual([{ company_id: companyId }])
  const held = notHolding(result.entries).map(({ id }) => id)
  expect(held).not.toContain('answers/typed')
  expect(held).not.toContain('errors/foreign-ids')
})

test('a hotel that is nowhere to be found is not written to, and the reason is given', async () => {
  const before = await stored()
  const { entries } = await conform(service.url, { writing: { ...writing, identifier: 'NO-SUCH-HOTEL' } })
  expect(entries.find(({ id }) => id === 'answers/typed')).toMatchObject({
    verdict: 'not observed',
    seen: expect.stringContaining('--company') as string,
  })
  expect(await stored()).toEqual(before)
})
