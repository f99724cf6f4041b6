import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { openFerry } from '../pipeline/push/ferry.ts'
import { outcomes, poisonService, properties, untilAllSettled } from '../pipeline/push/poison-service.ts'

const ferry = await openFerry()
afterAll(() => ferry.close())

it('for random poison every row has exactly one outcome in the end, and exactly the poisoned ones are rejected where any quarter is sound', async () => {
  const scenario = fc.record({
    size: fc.integer({ min: 1, max: 40 }),
    poisoned: fc.uniqueArray(fc.nat(39), { minLength: 1, maxLength: 3 }),
    order: fc.infiniteStream(fc.nat()),
  })
  await fc.assert(
    fc.asyncProperty(scenario, async ({ size, poisoned, order }) => {
      await ferry.clear()
      const poison = new Set(poisoned.map((number) => number % size))
      fc.pre(size > 3 || poison.size < size)
      await using service = await poisonService((body) => [...poison].some((at) => body.includes(`"n${at}."`)))
      await using deps = ferry.deps(service.url)
      await ferry.planned(deps, 'properties', properties(size))
      await untilAllSettled(ferry, deps, () => order.next().value ?? 0)
      const expected = properties(size).map(({ partner_id }, at) => [
        partner_id,
        poison.has(at) ? 'task_error_alone' : 'confirmed',
      ])
      expect(await outcomes(ferry, 'properties')).toEqual(Object.fromEntries(expected))
      expect(service.requests.length - 1).toBeLessThanOrEqual(40)
      const { rows } = await sql<{ times: number }>`
        select count(*) filter (where coalesce(outcome, rest_outcome) <> 'unknown') as times
        from submission_row join submission using (submission_id) group by row_id`.execute(ferry.ledger.db)
      expect(rows.map(({ times }) => times)).toEqual(rows.map(() => 1))
      const held = await ferry.ledger.db
        .selectFrom('ledger')
        .select('row_id')
        .where('held_by', 'is not', null)
        .execute()
      expect(held).toEqual([])
    }),
    { numRuns: 12 },
  )
}, 240_000)
