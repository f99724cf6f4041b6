import { sql } from 'kysely'
import { afterAll, expect, it, vi } from 'vitest'
import { bodyOf, calculator, company, samplePage, uuid } from './sample-page.ts'
import { type SearchDatabase, searchDatabase } from './search-database.ts'

const database: SearchDatabase = await searchDatabase()
afterAll(() => database[Symbol.asyncDispose]())

/**
 * How many connections stand so: in the midst of a transaction, after this statement, or waiting for another's lock.
 */
async function standing(condition: string): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and case ${condition}
      when 'marked' then state = 'idle in transaction' and query ilike '%insert into search_seen_company%'
      else state = 'active' and wait_event_type = 'Lock' and query ilike '%insert into search_seen_company%'
    end`.execute(database.db)
  return Number(rows[0]?.count)
}

it('a page that waits for a company of another does not keep the other waiting for a name', {
  timeout: 60_000,
}, async () => {
  // More than are marked as seen at once, so that the first page holds marks while it still arrives.
  const known = Array.from({ length: 6_000 }, (_, index) => company(`hotel ${index}`, { calculators: [] }))
  const [before] = await database.search()
  if (before === undefined) throw new Error('no page was listed')
  await database.load(before, bodyOf(samplePage(known), 65_536))
  await database.finish(before.submission_id)

  const fed = { inputs: { fresh: '1' }, outputs: {} }
  const [first, second] = await database.search(2)
  if (first === undefined || second === undefined) throw new Error('no pages were listed')
  const text = JSON.stringify(samplePage([...known, company('new', { calculators: [calculator('new/1', fed)] })]))
  const last = text.indexOf(`{"id":"${uuid('new')}"`)
  const opened = Promise.withResolvers<void>()
  async function* halting() {
    yield* bodyOf(text.slice(0, last), 65_536)
    await opened.promise
    yield* bodyOf(text.slice(last), 65_536)
  }
  const one = database.load(first, halting())
  await vi.waitFor(async () => expect(await standing('marked')).toBe(1), { timeout: 60_000 })
  // Until now nobody has named "fresh": the second page does, and then waits for what the first has marked.
  const changed = company('hotel 2000', { calculators: [calculator('hotel 2000/1', fed)] })
  const other = database.load(second, bodyOf(samplePage([changed])))
  await vi.waitFor(async () => expect(await standing('waiting')).toBe(1), { timeout: 60_000 })
  opened.resolve()

  const loaded = await Promise.all([one, other])
  expect(loaded).toMatchObject([{ companies: 6_001, unchanged: 6_000 }, { companies: 1 }])
  const { rows } =
    await sql`select count(*)::integer as values, min(variable_name) as name from calculator_values`.execute(
      database.db,
    )
  expect(rows).toEqual([{ values: 2, name: 'name of fresh' }])
})
