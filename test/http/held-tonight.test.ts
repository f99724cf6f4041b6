import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

let world: World
let api: ReadingApi
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  api = readingApi(world)
})
beforeEach(async () => {
  await world.pool.query('truncate run cascade')
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

type Ran = { job?: string; state?: string; asked?: object; held?: string[]; read?: string }

/** A run that has ended, with the streams that the guard stopped it over and the one that it read. */
async function ran({ job = 'nightly-sync', state = 'finished', asked = {}, held = [], read }: Ran): Promise<number> {
  const { rows } = await world.pool.query<{ run_id: string }>(
    `insert into run (job, trigger, scheduled_for, started_at, finished_at, state, step, verdict, held, asked)
     select $1, 'cli', clock_timestamp(), now(), now(), $2, 'report', case when $2 = 'finished' then 'partial' end,
            $3, $4
     returning run_id`,
    [job, state, held.length > 0, asked],
  )
  const run = Number(rows[0]?.run_id)
  for (const stream of held) {
    await world.pool.query(
      `insert into guard_plan (run_id, stream, reason, known, new, changed, gone, examples, state)
       values ($1, $2, 'share', 10, 0, 9, 0, '[]', 'waiting')`,
      [run, stream],
    )
  }
  if (read !== undefined) {
    await world.pool.query(
      `insert into run_stream (run_id, stream, read, folded, unchanged, changed, null_cursor, gone, returned, extracted_at)
       values ($1, $2, 1, 0, 1, 0, 0, 0, 0, now())`,
      [run, read],
    )
  }
  return run
}

async function tonight() {
  const { held, sentence } = JSON.parse(await api.text('/v1/tonight')) as {
    held: { run_id: number; stream: string }[]
    sentence: string
  }
  return { held: held.map(({ run_id, stream }) => [run_id, stream]), sentence }
}

test('what the guard holds is told of with its run after a later night that failed before it read anything', async () => {
  const run = await ran({ held: ['properties', 'standard_holders'] })
  expect((await tonight()).sentence).toContain('the guard stopped it over 2 streams')
  await ran({ state: 'failed' })
  expect((await tonight()).held).toEqual([
    [run, 'properties'],
    [run, 'standard_holders'],
  ])
})

test.each([
  ['a push', { job: 'push' }],
  ['a run of one stream', { asked: { streams: ['properties'] } }],
])('what the guard holds of %s is told of, and the sentence names that run', async (_, given) => {
  await ran({})
  const run = await ran({ ...given, held: ['properties'] })
  const { held, sentence } = await tonight()
  expect(held).toEqual([[run, 'properties']])
  expect(sentence).toContain(`the guard stopped run ${run} over 1 stream`)
})

test('what the guard holds of one stream is told of while later runs read another one, held or not', async () => {
  const run = await ran({ held: ['properties'] })
  await ran({ asked: { streams: ['standard_holders'] }, read: 'standard_holders' })
  expect((await tonight()).held).toEqual([[run, 'properties']])
  const other = await ran({
    asked: { streams: ['standard_holders'] },
    held: ['standard_holders'],
    read: 'standard_holders',
  })
  expect((await tonight()).held).toEqual([
    [other, 'standard_holders'],
    [run, 'properties'],
  ])
})

test('what the guard holds is told of no longer once it is approved or put aside', async () => {
  await ran({ held: ['properties', 'standard_holders'] })
  await world.pool.query(
    `update guard_plan set state = case stream when 'standard_holders' then 'superseded' else 'approved' end`,
  )
  expect((await tonight()).held).toEqual([])
})

test('what the guard holds of a stream that is not in the configuration any more is told of by nobody', async () => {
  await ran({ held: ['cars'], read: 'cars' })
  const { held, sentence } = await tonight()
  expect(held).toEqual([])
  expect(sentence).not.toContain('guard')
})
