import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKeyBlocks, createNameKeys, type Keys } from '../../../../src/pipeline/pull/merge/key-blocks.ts'
import { uuid } from '../sample-page.ts'
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

it.each([
  ['variable', 'calculator_variable', 'variable_id'],
  ['property', 'custom_property', 'property_id'],
] as const)('two pages that bring a new %s side by side make one row of two spellings', async (kind, table, column) => {
  const { db } = database
  const held = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  // A statement that has found the row missing waits before it writes it.
  await sql`
    create function wait_for_test() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(1, 1); return new; end $$`.execute(db)
  await sql`
    create trigger wait_for_test before insert on ${sql.table(table)} for each row
    execute function wait_for_test()`.execute(db)
  const holding = db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(1, 1)`.execute(trx)
    held.resolve()
    await release.promise
  })
  await held.promise
  const pages = [uuid(kind), uuid(kind).toUpperCase()].map((id) => ({ id, keys: createNameKeys(db, kind) }))
  const resolved = Promise.all(pages.map(({ id, keys }) => keys.resolve([id])))
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      return rows.length
    })
    .toBe(2)
  release.resolve()
  await Promise.all([holding, resolved])
  await sql`drop function wait_for_test cascade`.execute(db)

  expect((await sql`select ${sql.ref(column)} from ${sql.table(table)}`.execute(db)).rows).toHaveLength(1)
  const [one, other] = pages.map(({ id, keys }) => keys.keyOf(id))
  expect(one).toEqual(expect.any(Number))
  expect(other).toBe(one)
})
