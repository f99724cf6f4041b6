import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeyBlocks, type Keys } from '../../../../src/pipeline/pull/merge/key-blocks.ts'
import { type SearchDatabase, searchDatabase } from '../search-database.ts'

let database: SearchDatabase
beforeAll(async () => {
  database = await searchDatabase()
})
afterAll(async () => await database[Symbol.asyncDispose]())

const tables = ['company', 'calculator'] as const

/** All keys of twelve calls by each of two pages at once. */
async function takeSideBySide(): Promise<Keys[]> {
  const counts = Array.from({ length: 12 }, (_, turn) => ({ company: 2 ** turn % 700, calculator: 3 ** turn % 5_000 }))
  const pages = [createKeyBlocks(database.db), createKeyBlocks(database.db)]
  return await Promise.all(
    pages.map(async (blocks) => {
      const all: Keys = { company: [], calculator: [] }
      for (const count of counts) {
        const keys = await blocks.take(count)
        expect([keys.company.length, keys.calculator.length]).toEqual([count.company, count.calculator])
        for (const table of tables) all[table].push(...keys[table])
      }
      return all
    }),
  )
}

it('two pages that take keys side by side get none twice, each in ascending order', async () => {
  const taken = await takeSideBySide()
  for (const table of tables) {
    for (const keys of taken) expect(keys[table]).toEqual(keys[table].toSorted((a, b) => a - b))
    const all = taken.flatMap((keys) => keys[table])
    expect(new Set(all).size).toBe(all.length)
  }
})

it('keys that are no range, because others took some in between, are those of the sequence', async () => {
  await sql`alter sequence company_company_key_seq increment by 3`.execute(database.db)
  const before = await createKeyBlocks(database.db).take({ company: 1, calculator: 0 })
  const [first = 0] = before.company
  const { company } = await createKeyBlocks(database.db).take({ company: 4, calculator: 0 })
  expect(company).toEqual([first + 3, first + 6, first + 9, first + 12])
  await sql`alter sequence company_company_key_seq increment by 1`.execute(database.db)
})

it('a page with one new company takes one key', async () => {
  const take = () => createKeyBlocks(database.db).take({ company: 1, calculator: 2 })
  const [one, next] = [await take(), await take()]
  expect(next.company).toEqual([(one.company[0] ?? 0) + 1])
  expect(next.calculator).toEqual(one.calculator.map((key) => key + 2))
})
