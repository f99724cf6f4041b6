import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

let world: World
let api: ReadingApi
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  api = readingApi(world)
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

test('every period of a decade of months can be chosen, and a list of periods that is cut says so', async () => {
  await world.pool.query(
    `insert into calculator (calculator_id, company_key, type_id, period_year, period_month)
     select gen_random_uuid(), 1, gen_random_uuid(), year, nullif(month, 0)
     from generate_series(2016, 2026) year, generate_series(0, 12) month`,
  )
  const { periods, more_periods } = JSON.parse(
    await vi.waitFor(() => api.text('/v1/variables'), { timeout: 60_000, interval: 50 }),
  ) as {
    periods: { year: number; month: number | null }[]
    more_periods: boolean
  }
  expect(periods).toHaveLength(11 * 13)
  expect(periods.at(-1)).toEqual({ year: 2016, month: 1 })
  expect(more_periods).toBe(false)
})
