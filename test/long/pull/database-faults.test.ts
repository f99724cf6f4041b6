import type pg from 'pg'
import { expect, it, vi } from 'vitest'
import { ofThisFile } from '../../helpers/of-this-file.ts'
import { company, samplePage, uuid } from '../../pipeline/pull/sample-page.ts'
import { openFerry } from '../../pipeline/push/ferry.ts'
import { json, service } from '../../pipeline/push/service.ts'
import { startLoading } from './loading.ts'

const ferry = await ofThisFile(openFerry())

const patience = { timeout: 60_000, interval: 20 }
const names = Array.from({ length: 60 }, (_, number) => `Hotel ${number}`)
const old = samplePage(names.map((name) => company(name)))
const changed = samplePage(names.map((name) => company(name, { name: `New ${name}` })))

/** Loads the old page, so that every company is there to be locked. */
async function oldPage(): Promise<void> {
  await using server = await service({ '/old': [json(old)] })
  await using loading = await startLoading(ferry, [`${server.url}/old`], { pagesAtOnce: 1 })
  await loading.done()
}

const pageRows = async () => (await ferry.ledger.pool.query('select state, failures from search_page')).rows as unknown
const renamed = async () =>
  (await ferry.ledger.pool.query(`select count(*)::int as count from company where name like 'New %'`))
    .rows[0] as unknown

/** The backend of the load that waits for a lock. */
async function waiting(): Promise<number> {
  return await vi.waitFor(async () => {
    const { rows } = await ferry.ledger.pool.query<{ pid: number }>(
      `select pid from pg_locks join pg_stat_activity using (pid)
       where not granted and application_name = 'loading' and datname = current_database()`,
    )
    const [first] = rows
    if (first === undefined) throw new Error('nobody waits for a lock')
    return first.pid
  }, patience)
}

const lock = (client: pg.PoolClient, name: string) =>
  client.query('select from company where company_id = $1 for update', [uuid(name)])

/** In the order in which a load claims them. */
const byId = names.toSorted((one, other) => uuid(one).localeCompare(uuid(other)))
const [first = '', last = ''] = [byId[0], byId.at(-1)]

it.each([
  ['cancelled (57014)', (pid: number) => ferry.ledger.pool.query('select pg_cancel_backend($1)', [pid])],
  [
    'ended with its connection (57P01)',
    (pid: number) => ferry.ledger.pool.query('select pg_terminate_backend($1)', [pid]),
  ],
])(
  'the pull loads a page again whose statement was %s, and nothing of the first attempt shows',
  async (_what, strike) => {
    await oldPage()
    await using server = await service({ '/page': [json(changed)] })
    const holder = await ferry.ledger.pool.connect()
    await holder.query('begin')
    await lock(holder, last)
    await using loading = await startLoading(ferry, [`${server.url}/page`], { pagesAtOnce: 1 })
    await strike(await waiting())
    expect(await renamed()).toEqual({ count: 0 })
    await holder.query('rollback')
    holder.release()
    await loading.done()
    expect(await pageRows()).toEqual([{ state: 'loaded', failures: 0 }])
    expect(await renamed()).toEqual({ count: names.length })
    expect(server.seen.length).toBeGreaterThan(1)
  },
)

it('the pull loads a page again that was the victim of a deadlock (40P01)', async () => {
  await oldPage()
  await using server = await service({ '/page': [json(changed)] })
  const other = await ferry.ledger.pool.connect()
  await other.query('begin')
  // The load looks for a deadlock after a second; this one never does, so that the load is the victim.
  await other.query(`set local deadlock_timeout = '10min'`)
  await lock(other, last)
  await using loading = await startLoading(ferry, [`${server.url}/page`], { pagesAtOnce: 1 })
  await waiting()
  await lock(other, first)
  expect(await renamed()).toEqual({ count: 0 })
  await other.query('commit')
  other.release()
  await loading.done()
  expect(await pageRows()).toEqual([{ state: 'loaded', failures: 0 }])
  expect(await renamed()).toEqual({ count: names.length })
  expect(server.seen).toHaveLength(2)
})

it('the pull loads two pages side by side that hold the same companies in opposite order', async () => {
  await oldPage()
  const backwards = { ...changed, companies: changed.companies.toReversed() }
  const script = Object.fromEntries(
    Array.from({ length: 8 }, (_, page) => [`/${page}`, [json(page % 2 === 0 ? changed : backwards)]]),
  )
  await using server = await service(script)
  const urls = Object.keys(script).map((path) => `${server.url}${path}`)
  await using loading = await startLoading(ferry, urls, { pagesAtOnce: 4 })
  await loading.done()
  expect(await pageRows()).toEqual(urls.map(() => ({ state: 'loaded', failures: 0 })))
  expect(await renamed()).toEqual({ count: names.length })
  const { rows } = await ferry.ledger.pool.query('select count(*)::int as values from calculator_value')
  expect(rows).toEqual([{ values: 2 * names.length }])
})
