import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createMetrics } from '../../src/http/metrics/metrics.ts'
import { ended, ferry, withNews } from '../jobs/news-world.ts'

withNews()

let deps: ReturnType<typeof ferry.deps>
beforeAll(() => {
  deps = ferry.deps('http://127.0.0.1:9')
})
beforeEach(async () => {
  await ferry.ledger.db.deleteFrom('run').execute()
})
afterAll(() => deps[Symbol.asyncDispose]())

async function measured(name: string): Promise<number> {
  const text = await createMetrics(deps, ferry.ledger.db, '1.0.0').text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

const lastStart = (verdict: string) =>
  measured(`nightferry_run_last_start_timestamp_seconds{job="nightly-sync",verdict="${verdict}"}`)

const startedOf = async (run_id: number) =>
  (await ferry.ledger.db.selectFrom('run').select('started_at').where('run_id', '=', run_id).executeTakeFirstOrThrow())
    .started_at

it('the newest start of a job is that of a run that was to do all of it, was not stopped, and began by a right clock', async () => {
  expect(await lastStart('succeeded')).toBe(0)
  const whole = await ended('succeeded')
  await ended('succeeded', undefined, { streams: ['properties'] })
  const [stopped, ahead] = [await ended('partial'), await ended('succeeded')]
  await ferry.ledger.pool.query('update run set held = true where run_id = $1', [stopped])
  await ferry.ledger.pool.query(`update run set started_at = now() + interval '30 days' where run_id = $1`, [ahead])
  expect(await lastStart('succeeded')).toBeCloseTo((await startedOf(whole)).getTime() / 1000, 2)
  expect(await lastStart('partial')).toBe(0)
})

it('the newest start of a job is that of a run that went to the destination in use', async () => {
  const there = await ended('succeeded')
  await ferry.ledger.pool.query(
    `with staging as (
       insert into destination (name, schema_name, left_at) values ('staging', 'staging', now()) returning destination_id
     )
     update run set destination_id = staging.destination_id from staging where run_id = $1`,
    [there],
  )
  expect(await lastStart('succeeded')).toBe(0)
})

it('the newest start of a failed run counts although the guard had stopped it', async () => {
  const failed = await ended('failed', 'exchange_unreachable')
  await ferry.ledger.pool.query('update run set held = true where run_id = $1', [failed])
  expect(await lastStart('failed')).toBeGreaterThan(0)
})

it('pages that wait are those of runs that are under way: a run that failed amid its pages loads them no more', async () => {
  const { db, pool } = ferry.ledger
  const run_id = await ended('failed', 'disk_full')
  const { submission_id } = await db
    .insertInto('submission')
    .values({ run_id, kind: 'calculator_data_search', partition: '', state: 'settled', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  const page = { submission_id, url: 'https://pages.example/0', state: 'listed' } as const
  await db
    .insertInto('search_page')
    .values([
      { ...page, ordinal: 0 },
      { ...page, ordinal: 1 },
      { ...page, ordinal: 2, state: 'loaded' },
    ])
    .execute()
  expect(await measured('nightferry_pages_waiting')).toBe(0)
  await pool.query(`update run set state = 'running', verdict = null, finished_at = null where run_id = $1`, [run_id])
  expect(await measured('nightferry_pages_waiting')).toBe(2)
  await pool.query('delete from search_page; delete from submission')
})
