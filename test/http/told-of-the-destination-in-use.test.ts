import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { endedTasks } from '../../src/db/webhooks/webhook-records.ts'
import { downloadChecks } from '../../src/doctor/exchange-checks.ts'
import { scheduleChecks } from '../../src/doctor/schedule-checks.ts'
import type { Ward } from '../../src/doctor/ward.ts'
import { lastSearchedRun } from '../../src/pipeline/pull/merge/value-history.ts'
import { missingProperties } from '../../src/pipeline/pull/search/requested-properties.ts'
import { searchKind } from '../../src/pipeline/streams/kind-names.ts'
import { startTwoDestinations, type TwoDestinations } from './two-destinations.ts'

const search = 'our_holders'
const property = '11111111-1111-4111-8111-111111111111'

let two: TwoDestinations
beforeAll(async () => {
  two = await startTwoDestinations(({ exchange, pull }) => {
    exchange.baseUrl = 'https://exchange.example'
    Object.assign(pull, {
      searches: [{ ...pull.searches[0], name: search, schedule: null }],
      customPropertyIds: [property],
    })
  })
})
beforeEach(async () => {
  await two.world.pool.query('truncate run, source_row, webhook_receiver cascade')
})
afterAll(() => two?.[Symbol.asyncDispose]())

/** What a night leaves behind: times of its steps, requests, pages, and a task that ended. @returns its number. */
async function wholeNight(destination: number | null): Promise<number> {
  const run = await two.night({ destination })
  const { pool } = two.world
  await pool.query(
    `insert into run_step (run_id, step, began_at, ended_at)
     select $1, step, now() - interval '3 hours', now()
     from unnest(array['reference', 'extract', 'preflight', 'push', 'pull', 'reconcile', 'compare']) step`,
    [run],
  )
  await pool.query(
    `insert into submission (run_id, kind, partition, state, row_count, repeats, payload_bytes, attempted_at)
     values ($1, 'properties', '', 'uncertain', 1, 3, 1200, now())`,
    [run],
  )
  await pool.query(
    `insert into submission (run_id, kind, partition, state, task_status, row_count, correlation_id, accepted_at,
                             terminal_at)
     values ($1, 'properties', '', 'settled', 'Success', 1, gen_random_uuid()::text, now(), now())`,
    [run],
  )
  const ended = `{ "left_out_properties": [{ "property_id": "${property}" }] }`
  for (const [kind, partition] of [
    [searchKind, ''],
    ['companies_search', search],
  ]) {
    const submission = await two.numberOf(
      `insert into submission (run_id, kind, partition, state, task_status, row_count, history, search_result)
       values ($1, $2, $3, 'settled', 'Success', 0, true, $4) returning submission_id`,
      [run, kind, partition, kind === searchKind ? ended : null],
    )
    await pool.query(
      `insert into search_page (submission_id, ordinal, url, state, loaded_at)
       values ($1, 0, 'http://127.0.0.1:4711/page', 'loaded', now())`,
      [submission],
    )
  }
  return run
}

/** What checks of the doctor find, by their id. */
async function found(id: string): Promise<{ level: string; what: string }[]> {
  const ward = {
    now: () => new Date(),
    config: () => Promise.resolve(two.config),
    ledger: () => Promise.resolve({ db: two.db }),
  } as unknown as Ward
  return (await [...downloadChecks, ...scheduleChecks].find((check) => check.id === id)?.run(ward)) ?? []
}

test('the doctor judges no address of a page that another destination listed', async () => {
  await wholeNight(two.elsewhere)
  expect(await found('download_host')).toMatchObject([{ level: 'ok', what: 'No result file was listed yet' }])
  await wholeNight(null)
  expect(await found('download_host')).toMatchObject([{ level: 'error' }])
})

test('the doctor judges no run for another destination, and names the destination', async () => {
  const run = await two.night({ destination: two.elsewhere, verdict: 'failed' })
  const what = `No run of nightly-sync has worked yet for the destination in use; run ${run} was for staging`
  expect(await found('last_runs')).toMatchObject([{ level: 'ok', what }])
  const here = await two.night()
  expect(await found('last_runs')).toMatchObject([
    { level: 'ok', what: expect.stringContaining(`Run ${here} ended well`) },
  ])
})

test('the status tells of no run, page or search of another destination, and names the one whose run is the newest', async () => {
  const run = await wholeNight(two.elsewhere)
  expect(await two.answer('/v1/status')).toMatchObject({
    last_run: null,
    last_night: null,
    elsewhere: { run_id: run, destination: 'staging' },
    pages: null,
    searches: [{ search, loaded_at: null, submission_id: null, state: null }],
    custom_properties: { left_out: [], left_out_in_run: null },
  })
  const here = await wholeNight(null)
  expect(await two.answer('/v1/status')).toMatchObject({
    last_run: { run_id: here },
    last_night: { run_id: here },
    elsewhere: null,
    pages: { pages: 2 },
    searches: [{ search, loaded_at: expect.any(String), state: 'settled' }],
    custom_properties: { left_out: [{ property_id: property }], left_out_in_run: here },
  })
})

test('the last run of a job names the destination that it was for, where that is not the one in use', async () => {
  const [there, here] = [await two.night({ destination: two.elsewhere }), await two.night({ job: 'housekeeping' })]
  const { jobs } = await two.answer<{ jobs: { job: string; last_run: object | null }[] }>('/v1/jobs')
  const last = new Map(jobs.map(({ job, last_run }) => [job, last_run]))
  expect(last.get('nightly-sync')).toMatchObject({ run_id: there, destination: 'staging' })
  expect(last.get('housekeeping')).toMatchObject({ run_id: here, destination: null })
})

test('when a run will end is not guessed by what steps took at another destination', async () => {
  await wholeNight(two.elsewhere)
  const ends = async (run: number) => (await two.answer<{ ends_at: string | null }>(`/v1/runs/${run}/progress`)).ends_at
  const first = await two.night({ at: 'extract' })
  expect(await ends(first)).toBeNull()
  await two.world.pool.query(`update run set state = 'failed' where run_id = $1`, [first])
  await wholeNight(null)
  expect(await ends(await two.night({ at: 'extract' }))).not.toBeNull()
})

test('the last search whose changes are listed was made at the destination in use', async () => {
  const here = await wholeNight(null)
  await wholeNight(two.elsewhere)
  expect(await lastSearchedRun(two.db, searchKind)).toMatchObject({ run_id: here })
  expect(await missingProperties(two.db, [property])).toMatchObject({ left_out_in_run: here })
})

test('what is parked is shown with the newest run for the destination in use', async () => {
  const here = await two.night()
  const there = await two.night({ destination: two.elsewhere })
  const parkedOf = async (run: number) => (await two.answer<{ parked: unknown }>(`/v1/runs/${run}/waves`)).parked
  expect(await parkedOf(there)).toBeNull()
  expect(await parkedOf(here)).toEqual([])
})

test('webhooks are judged by the tasks of the destination in use', async () => {
  await two.world.pool.query(`insert into webhook_receiver (since, heard_at) values (now() - interval '1 day', now())`)
  await wholeNight(two.elsewhere)
  expect(await endedTasks(two.db, 10, 31)).toEqual([])
  await wholeNight(null)
  expect(await endedTasks(two.db, 10, 31)).toHaveLength(1)
})

test('runs and nights that are listed name the destination that each was for, where that is not the one in use', async () => {
  const [there, here] = [await two.night({ destination: two.elsewhere }), await two.night()]
  const named = [
    { run_id: here, destination: null },
    { run_id: there, destination: 'staging' },
  ]
  expect(await two.answer('/v1/nights')).toMatchObject({ nights: named })
  expect(await two.answer('/v1/runs')).toMatchObject({ runs: named })
  expect(await two.answer(`/v1/runs/${there}`)).toMatchObject(named[1] ?? {})
})
