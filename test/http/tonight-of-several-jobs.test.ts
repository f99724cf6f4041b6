import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

let world: World
let api: ReadingApi
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  api = readingApi(world, ({ jobs }) => {
    jobs['nightly-sync'].schedule = null
    jobs.push.schedule = '30 1 * * *'
    jobs.push.timeZone = 'Europe/Copenhagen'
    jobs['pull-calculators'].schedule = '0 3 * * *'
  })
})
beforeEach(async () => {
  await world.pool.query('truncate run, job_pause cascade')
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

/** A run that has ended after some minutes. */
async function ran(job: string, verdict: string | null = 'succeeded', minutes = 10): Promise<number> {
  const { rows } = await world.pool.query<{ run_id: string }>(
    `insert into run (job, trigger, scheduled_for, started_at, finished_at, state, step, verdict)
     select $1, 'schedule', clock_timestamp(), now() - $3 * interval '1 minute', now(),
            case when $2::text is null then 'failed' else 'finished' end, 'report', $2
     returning run_id`,
    [job, verdict, minutes],
  )
  return Number(rows[0]?.run_id)
}

type Tonight = {
  sentence: string
  time_zone: string
  run: { run_id: number; job: string } | null
  next: string | null
  schedule: string | null
  paused: object | null
  typical_ms: number | null
}
const tonight = async () => JSON.parse(await api.text('/v1/tonight')) as Tonight

test('tonight speaks of the jobs that are scheduled, and not of a night that ran once by hand', async () => {
  await ran('nightly-sync')
  const push = await ran('push', null)
  await ran('pull-calculators')
  const told = await tonight()
  expect(told.run).toMatchObject({ run_id: push, job: 'push' })
  expect(told.sentence).toMatch(/^The last run of push failed/)
  const { nights } = JSON.parse(await api.text('/v1/nights?limit=10')) as { nights: { job: string }[] }
  expect(nights.map(({ job }) => job)).toEqual(['pull-calculators', 'push', 'nightly-sync'])
})

test('tonight says of several jobs when the next of them starts, and how long its kind takes', async () => {
  await ran('pull-calculators', 'succeeded', 40)
  await ran('push')
  const told = await tonight()
  expect(['30 1 * * *', '0 3 * * *']).toContain(told.schedule)
  expect(told.next).not.toBeNull()
  expect(told.typical_ms).toBeCloseTo(600_000, -3)
  await world.pool.query(`insert into job_pause (job, paused_by, paused_at) values ('push', 'anna', now())`)
  expect(await tonight()).toMatchObject({ schedule: '0 3 * * *', paused: null })
  await world.pool.query(`insert into job_pause (job, paused_by, paused_at) values ('pull-calculators', 'anna', now())`)
  expect((await tonight()).paused).toMatchObject({ paused_by: 'anna' })
})

test('tonight says the time in one zone, whichever of several jobs starts next', async () => {
  const push = await ran('push', null)
  await world.pool.query(`update run set finished_at = '2026-01-15T02:30:00Z' where run_id = $1`, [push])
  expect(await tonight()).toMatchObject({ time_zone: 'Europe/Copenhagen', sentence: expect.stringContaining('03:30') })
  await world.pool.query(`insert into job_pause (job, paused_by, paused_at) values ('push', 'anna', now())`)
  expect(await tonight()).toMatchObject({ schedule: '0 3 * * *', time_zone: 'Europe/Copenhagen' })
})

test('tonight tells of a night by hand where it is newer than the runs of the scheduled jobs', async () => {
  await ran('push', null)
  await ran('pull-calculators')
  const night = await ran('nightly-sync')
  expect((await tonight()).run).toMatchObject({ run_id: night })
})

test('tonight repeats what the report of the last run remarks and what is worth knowing of it', async () => {
  const push = await ran('push', 'partial')
  const report = { remarks: ['3 rows rejected.'], notices: ['2 rows are gone.'], held: [], streams: [] }
  await world.pool.query('update run set report = $2 where run_id = $1', [push, JSON.stringify(report)])
  const { remarks, notices } = report
  expect(await tonight()).toMatchObject({ remarks, notices })
})
