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

async function lastStart(verdict: string): Promise<number> {
  const text = await createMetrics(deps, ferry.ledger.db, '1.0.0').text()
  const name = `nightferry_run_last_start_timestamp_seconds{job="nightly-sync",verdict="${verdict}"} `
  const line = text.split('\n').find((one) => one.startsWith(name))
  return Number(line?.slice(name.length))
}

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

it('the newest start of a failed run counts although the guard had stopped it', async () => {
  const failed = await ended('failed', 'exchange_unreachable')
  await ferry.ledger.pool.query('update run set held = true where run_id = $1', [failed])
  expect(await lastStart('failed')).toBeGreaterThan(0)
})
