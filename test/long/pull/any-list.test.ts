import fc from 'fast-check'
import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { restoreRemoved } from '../../../src/pipeline/pull/removals/restore-removed.ts'
import { acceptRemovals } from '../../../src/pipeline/pull/removals/take-removals.ts'
import { company, samplePage } from '../../pipeline/pull/sample-page.ts'
import { openNights } from '../../pipeline/pull/search-nights.ts'

const { database, db, night, known, marks, clear } = await openNights()
afterAll(() => database[Symbol.asyncDispose]())

const list = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }).map((values) => values.join(''))
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ list, minSeenShare: fc.constantFrom(0, 0.9) }) },
  { weight: 1, arbitrary: fc.constantFrom('absent', 'accept', 'accept restored') },
  { weight: 2, arbitrary: fc.constant('restore') },
)

const stands = async () => ((await known()).properties as { value: string }[]).map(({ value }) => value).join('')
const kept = async () =>
  (await sql<{ value: string }>`select value from removals`.execute(db)).rows.map(({ value }) => value)

/** Each value as often as it is in the one and not in the other. */
function without(values: readonly string[], others: readonly string[]): string[] {
  const rest = [...values]
  for (const other of others) {
    const at = rest.indexOf(other)
    if (at >= 0) rest.splice(at, 1)
  }
  return rest
}

it('a list that nights, guards and people change is always one that was given whole, and a marked one loses no value', {
  timeout: 500_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      await clear()
      const given = new Set([''])
      for (const one of steps) {
        const [before, marked, keptBefore] = [await stands(), await marks(), await kept()]
        if (one === 'restore') await db.transaction().execute((trx) => restoreRemoved(trx, {}))
        else if (one === 'accept') await db.transaction().execute((trx) => acceptRemovals(trx, {}))
        else if (one === 'accept restored') {
          await db.transaction().execute((trx) => acceptRemovals(trx, { reason: 'restored' }))
        } else {
          const shown = one === 'absent' ? null : one
          if (shown !== null) given.add(shown.list)
          const fields = shown === null || shown.list === '' ? {} : { brand: shown.list.split('') }
          const companies = shown === null ? [] : [company('A', { fields, calculators: [] })]
          const page = { ...samplePage(companies), customProperties: [{ id: 'brand', name: 'Brand' }] }
          await night([page], { minSeenShare: shown?.minSeenShare ?? 0 }, { minSeenShare: 0 })
        }
        const after = await stands()
        // A value comes back behind others that have changed places since: what a person puts together counts as given.
        if (one === 'restore') given.add(after)
        expect([...given]).toContain(after)
        if (marked.some(({ part }) => part === 'property')) {
          const lost = without(before.split(''), after.split(''))
          expect(without(lost, without(await kept(), keptBefore))).toEqual([])
        }
      }
    }),
    { numRuns: 60 },
  )
})
