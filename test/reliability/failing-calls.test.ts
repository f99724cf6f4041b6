import { beforeAll, describe, expect, it } from 'vitest'
import type { FinalTables } from '../helpers/final-tables.ts'
import { serviceProxy } from '../helpers/service-proxy.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { atOnce, calmTables, expectSameNight, ofSize, type SmallNight, smallNight } from './small-night.ts'

let calm: FinalTables
let statements: number
let calls = 0

beforeAll(async () => {
  calm = await calmTables()
  await using counted = await smallNight()
  await using database = await openDatabaseProxy(counted.world.databaseUrl, () => 'pass')
  await using service = await serviceProxy(counted.world.sandboxUrl, async (_, forward) => {
    calls += 1
    return await forward()
  })
  const ended = await counted.run({ DATABASE_URL: database.url, EXCHANGE_BASE_URL: service.url })
  expect(ended, ended.stderr).toMatchObject({ code: 0 })
  statements = database.statements()
  expect(Math.min(statements, calls)).toBeGreaterThan(40)
})

/** Where in the night the call is that fails, as a share of them all. */
const shares = (count: number) => Array.from({ length: count }, (_, index) => (index + 0.5) / count)

/** Strikes once: the call of that number, or the first after it. */
function onceFrom(nth: number): { strikes(which: number): boolean; struck(): boolean } {
  let struck = false
  return {
    strikes: (which) => {
      if (struck || which < nth) return false
      struck = true
      return true
    },
    struck: () => struck,
  }
}

/** Runs the night until it is through: a run that trouble ended says why, and the next goes on. */
async function untilThrough(night: SmallNight, environment: Record<string, string>): Promise<void> {
  const first = await night.run(environment)
  if (first.code === 0) return
  expect(first.code, first.stderr).toBe(1)
  expect(first.stderr).toMatch(/nightferry: \w+: /)
  expect(first.stderr).not.toMatch(/\n\s+at /)
  const next = await night.run()
  expect(next, next.stderr).toMatchObject({ code: 0 })
}

describe('a night of which one statement of its database fails', () => {
  it.each(shares(ofSize({ S: 16, M: 100, L: 1000 })))('loses nothing when it is the one at %d, once', async (share) => {
    await using night = await smallNight()
    const nth = Math.ceil(share * statements)
    const fault = onceFrom(nth)
    await using proxy = await openDatabaseProxy(night.world.databaseUrl, (passing) =>
      passing.what === 'statement' && fault.strikes(passing.nth) ? 'cut' : 'pass',
    )
    await untilThrough(night, { DATABASE_URL: proxy.url })
    expect(fault.struck()).toBe(true)
    await expectSameNight(night, calm, atOnce)
  })

  it.each(shares(ofSize({ S: 8, M: 50, L: 500 })))(
    'loses nothing when all fail from the one at %d on',
    async (share) => {
      await using night = await smallNight()
      const nth = Math.ceil(share * statements)
      await using proxy = await openDatabaseProxy(night.world.databaseUrl, (passing) =>
        passing.what === 'statement' && passing.nth >= nth ? 'cut' : 'pass',
      )
      await untilThrough(night, { DATABASE_URL: proxy.url })
      await expectSameNight(night, calm, atOnce)
    },
  )
})

describe('a night of which one call of the service fails', () => {
  it.each(shares(ofSize({ S: 16, M: 60, L: 200 })))(
    'loses nothing when the one at %d is not answered',
    async (share) => {
      await using night = await smallNight()
      const nth = Math.ceil(share * calls)
      const fault = onceFrom(nth)
      await using proxy = await serviceProxy(night.world.sandboxUrl, async (call, forward) => {
        if (!fault.strikes(call.nth)) return await forward()
        // The service never sees an even one; an odd one it takes, and its answer is lost.
        if (call.nth % 2 === 1) await forward()
        return null
      })
      await untilThrough(night, { EXCHANGE_BASE_URL: proxy.url })
      expect(fault.struck()).toBe(true)
      await expectSameNight(night, calm, 1)
    },
  )
})
