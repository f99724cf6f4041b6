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

async function lines(start: string): Promise<string[]> {
  const text = await createMetrics(deps, ferry.ledger.db, '1.0.0').text()
  return text.split('\n').filter((one) => one.startsWith(start))
}

const measured = async (name: string) => Number((await lines(`${name} `))[0]?.slice(name.length))

const lastStart = (verdict: string) =>
  measured(`nightferry_run_last_start_timestamp_seconds{run_job="nightly-sync",verdict="${verdict}"}`)

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

/** Has a run be one for a destination that is not in use. */
async function moveElsewhere(run: number): Promise<void> {
  await ferry.ledger.pool.query(
    `with staging as (
       insert into destination (name, schema_name, left_at) values ('staging', 'staging', now())
       on conflict (name) do update set left_at = now() returning destination_id
     )
     update run set destination_id = staging.destination_id from staging where run_id = $1`,
    [run],
  )
}

it('the newest start of a job is that of a run that went to the destination in use', async () => {
  await moveElsewhere(await ended('succeeded'))
  expect(await lastStart('succeeded')).toBe(0)
})

it('the newest start of a job is that of a run that carried the data through', async () => {
  const nothing = await ended('partial')
  await ferry.ledger.pool.query('update run set carried = false where run_id = $1', [nothing])
  expect(await lastStart('partial')).toBe(0)
})

it('the newest search that is measured brought its pages, or is the first one while none did', async () => {
  const { db, pool } = ferry.ledger
  const brought = async () => {
    const [line] = await lines('nightferry_search_last_brought_timestamp_seconds')
    return line === undefined
      ? null
      : Number(line.replace('nightferry_search_last_brought_timestamp_seconds{search="calculators"} ', ''))
  }
  const run_id = await ended('partial')
  const search = async (hour: number, pages: string[], error_code: string | null = null) => {
    const planned_at = new Date(Date.UTC(2026, 0, 1, hour))
    const { submission_id } = await db
      .insertInto('submission')
      .values({ run_id, kind: 'calculators_search', state: 'settled', row_count: 0, planned_at, error_code })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    for (const [ordinal, state] of pages.entries()) {
      const page = { submission_id, ordinal, url: `https://pages.example/${ordinal}`, state: state as 'loaded' }
      await db.insertInto('search_page').values(page).execute()
    }
    return planned_at.getTime() / 1000
  }
  expect(await brought()).toBeNull()
  const first = await search(1, ['failed', 'failed'])
  await search(2, [], 'task_error')
  expect(await brought()).toBe(first)
  const half = await search(3, ['failed', 'loaded'])
  await search(4, ['failed'])
  expect(await brought()).toBe(half)
  expect(await search(5, [])).toBe(await brought())
  await moveElsewhere(run_id)
  expect(await brought()).toBeNull()
  await pool.query('delete from search_page; delete from submission')
})

it('steps and requests that are measured are those of runs for the destination in use', async () => {
  const { pool } = ferry.ledger
  const working = async (bytes: number) => {
    const run = await ended('succeeded')
    await pool.query(`insert into run_step (run_id, step, began_at, ended_at) values ($1, 'pull', now(), now())`, [run])
    await pool.query(
      `insert into submission (run_id, kind, state, row_count, repeats, payload_bytes)
       values ($1, 'properties', 'uncertain', 1, 3, $2)`,
      [run, bytes],
    )
    return run
  }
  const told = async () =>
    await Promise.all(
      [
        'run_step_last_duration_seconds',
        'run_last_repeated_requests',
        'run_last_sent_bytes',
        'requests_unfinished',
      ].map(async (name) => await lines(`nightferry_${name}{`)),
    )
  await moveElsewhere(await working(1_200))
  expect(await told()).toEqual([[], [], [], []])
  await working(70)
  await moveElsewhere(await working(1_200))
  expect(await told()).toEqual([
    [expect.stringContaining('step="pull"')],
    ['nightferry_run_last_repeated_requests{kind="properties"} 3'],
    ['nightferry_run_last_sent_bytes{kind="properties"} 70'],
    ['nightferry_requests_unfinished{kind="properties",state="uncertain"} 1'],
  ])
  await pool.query('delete from run_step; delete from submission')
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

it('a run that the guard stopped over a stream which is not in the configuration any more waits for nobody', async () => {
  const held = await ended('partial')
  await ferry.ledger.pool.query(
    `insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
     values ($1, 'omissions', 'empty', 5, 0, 0, 5, '[]', 'waiting')`,
    [held],
  )
  const properties = { query: 'select', cursor: 'at', requires: [] }
  const heldBy = async (streams: object) => {
    const config = { ...deps.config, streams: streams as typeof deps.config.streams }
    const text = await createMetrics({ ...deps, config }, ferry.ledger.db, '1.0.0').text()
    return text.split('\n').find((line) => line.startsWith('nightferry_runs_held '))
  }
  expect(await heldBy({ properties, omissions: properties })).toBe('nightferry_runs_held 1')
  expect(await heldBy({ properties })).toBe('nightferry_runs_held 0')
})
