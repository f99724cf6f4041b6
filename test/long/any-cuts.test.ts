import fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { answersOf as answers, openWindows } from '../db/ledger/windows.ts'

const { ledger, begin, cut, end, sameCompany } = await openWindows()
afterAll(() => ledger.close())

/** What a test lays down: hotels with rows in up to three frameworks, some of them the same company. */
const hotel = fc.record({ rows: fc.array(fc.nat(4), { minLength: 1, maxLength: 3 }), company: fc.nat(4) })
const step = fc.record({
  maxRows: fc.integer({ min: 1, max: 9 }),
  requests: fc.integer({ min: 0, max: 4 }),
  ends: fc.nat(9),
})

it('the planner carries every row once in any order of cuts and endings, and never two submissions of one hotel or company at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(hotel, { minLength: 1, maxLength: 9 }),
      fc.array(step, { maxLength: 12 }),
      async (hotels, steps) => {
        await begin()
        const rows = hotels.flatMap(({ rows: counts }, index) =>
          counts.flatMap((count, framework) => answers(`H-${index}`, count, `f${framework}`)),
        )
        if (rows.length > 0) await ledger.landChecked('framework_answers', rows)
        for (const company of [1, 2, 3, 4]) {
          const ids = hotels.flatMap((one, index) => (one.company === company ? [`H-${index}`] : []))
          if (ids.length > 0) await sameCompany(...ids)
        }
        const carried: string[] = []
        const inFlight = new Map<number, Set<string>>()
        const targetOf = (key: string) => {
          const index = Number(key.split(' ')[0]?.slice(2))
          const company = hotels[index]?.company ?? 0
          return company === 0 ? `H-${index}` : `company ${company}`
        }
        let sweep = true
        const plan = async (maxRows: number, requests: number) => {
          const ids = await cut({ sweep, maxRows, requests })
          sweep = false
          for (const id of ids) {
            const keys = await ledger.keysOf(id)
            expect(keys.length).toBeLessThanOrEqual(maxRows)
            const targets = new Set(keys.map(targetOf))
            for (const other of inFlight.values()) expect([...targets].filter((one) => other.has(one))).toEqual([])
            inFlight.set(id, targets)
            carried.push(...keys)
          }
          return ids.length
        }
        const endOne = async (pick: number) => {
          const id = [...inFlight.keys()][pick % Math.max(1, inFlight.size)]
          if (id === undefined) return
          await end(id)
          inFlight.delete(id)
        }
        for (const { maxRows, requests, ends } of steps) {
          await plan(maxRows, requests)
          await endOne(ends)
        }
        // To the end: the queue alone must lead to every row.
        while ((await plan(3, 2)) > 0 || inFlight.size > 0) await endOne(0)
        expect(carried.toSorted()).toEqual(rows.map(({ row_key }) => row_key ?? '').toSorted())
        expect(await cut({ sweep: true })).toEqual([])
      },
    ),
    { numRuns: 40 },
  )
})
