import { sql } from 'kysely'
import { afterAll, expect, it } from 'vitest'
import { bodyOf, calculator, company, samplePage } from '../sample-page.ts'
import { type SearchDatabase, searchDatabase } from '../search-database.ts'

const database: SearchDatabase = await searchDatabase()
const { db, pool } = database
afterAll(() => database[Symbol.asyncDispose]())

/** So many that the ones that are as they were are marked before the page has ended. */
const known = Array.from({ length: 4_500 }, (_, index) => company(`known ${index}`))
const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`v${index}`, 'x'.repeat(100)]))
const fresh = company('fresh', { calculators: [calculator('fresh/1', { inputs: many })] })

it('a load that fails leaves nothing of what waited for its turn on the connection', async () => {
  const [before] = await database.search()
  if (before === undefined) throw new Error('no page was listed')
  await database.load(before, bodyOf(samplePage([...known, { ...fresh, calculators: [] }]), 64_000))
  await database.finish(before.submission_id)
  await sql`delete from company where company_id = ${fresh.id}::uuid`.execute(db)

  const [page] = await database.search()
  if (page === undefined) throw new Error('no page was listed')
  // The copy of the new company's values waits for the one that holds the table, and the marks wait for the copy.
  const holder = await pool.connect()
  await holder.query('begin')
  await holder.query('lock table calculator_value in share mode')
  const asked = statements()
  const cut = Promise.withResolvers<void>()
  const { companies, ...names } = samplePage([fresh, ...known])
  async function* cutOff() {
    yield* bodyOf(JSON.stringify({ ...names, companies }).slice(0, -10), 64_000)
    cut.resolve()
    throw new Error('the connection was lost')
  }
  const load = database.load(page, cutOff())
  const ended = expect(load).rejects.toThrow('the connection was lost')
  await cut.promise
  await expect.poll(waitsForLock).toBe(true)
  await holder.query('rollback')
  holder.release()
  await ended
  expect(asked.at(-1)).toBe('rollback')
  const { rows } = await sql`select count(*)::int as seen from search_seen_company`.execute(db)
  expect(rows).toEqual([{ seen: 0 }])
})

async function waitsForLock(): Promise<boolean> {
  const { rows } = await sql<{ waits: boolean }>`select exists (
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
  ) as waits`.execute(db)
  return rows[0]?.waits === true
}

/** What the next connection that is taken from the pool is asked from then on, done or not; '' for a COPY. */
function statements(): string[] {
  const asked: string[] = []
  pool.once('acquire', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown
    const watched = (...args: unknown[]) => {
      const [statement] = args
      asked.push(typeof statement === 'string' ? statement : ((statement as { text?: string }).text ?? ''))
      return query(...args)
    }
    Object.assign(client, { query: watched })
  })
  return asked
}
