import { expect, it } from 'vitest'
import { createKeyBlocks, type Keys } from '../../../../src/pipeline/pull/merge/key-blocks.ts'
import { searchDatabase } from '../search-database.ts'

it('two pages that take keys side by side get none twice, each in ascending order', async () => {
  const { db } = await searchDatabase()
  const pages = [createKeyBlocks(db), createKeyBlocks(db)]
  const counts = Array.from({ length: 12 }, (_, turn) => ({ company: 2 ** turn % 700, calculator: 3 ** turn % 5_000 }))
  const taken = await Promise.all(
    pages.map(async (blocks) => {
      const all: Keys = { company: [], calculator: [] }
      for (const count of counts) {
        const keys = await blocks.take(count)
        expect([keys.company.length, keys.calculator.length]).toEqual([count.company, count.calculator])
        all.company.push(...keys.company)
        all.calculator.push(...keys.calculator)
      }
      return all
    }),
  )
  for (const table of ['company', 'calculator'] as const) {
    for (const keys of taken) expect(keys[table]).toEqual(keys[table].toSorted((a, b) => a - b))
    const all = taken.flatMap((keys) => keys[table])
    expect(new Set(all).size).toBe(all.length)
  }
})
