import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

let world: World
let api: ReadingApi
let elsewhere: number
beforeAll(async () => {
  world = await startWorld({ migrated: true, hotels: 1 })
  api = readingApi(world)
  elsewhere = await numberOf(
    `insert into destination (name, schema_name, left_at) values ('staging', 'staging', now()) returning destination_id`,
  )
})
beforeEach(async () => {
  await world.pool.query('truncate run, source_row cascade')
})
afterAll(async () => {
  await api?.[Symbol.asyncDispose]()
  await world?.[Symbol.asyncDispose]()
})

async function numberOf(query: string, given: unknown[] = []): Promise<number> {
  const { rows } = await world.pool.query<Record<string, string>>(query, given)
  return Number(Object.values(rows[0] ?? {})[0])
}

/** A night that ended well after an hour. @param destination the one in use unless another is named. */
async function night(destination: number | null = null): Promise<number> {
  return await numberOf(
    `insert into run (job, trigger, scheduled_for, started_at, finished_at, state, step, verdict, destination_id)
     values ('nightly-sync', 'cli', clock_timestamp(), now() - interval '1 hour', now(), 'finished', 'report',
             'succeeded', coalesce($1, destination_in_use()))
     returning run_id`,
    [destination],
  )
}

/** The one request of a run, which carried a row of the hotel H-1. */
async function request(run: number): Promise<number> {
  const submission = await numberOf(
    `insert into submission (run_id, kind, partition, state, task_status, row_count, attempted_at, settled_at)
     values ($1, 'properties', '', 'settled', 'Success', 1, now(), now()) returning submission_id`,
    [run],
  )
  const row = await numberOf(
    `insert into source_row (stream, partner_id, row_key, content, desired_hash)
     values ('properties', 'H-1', $1, '{}', '\\x01') returning row_id`,
    [`of ${submission}`],
  )
  await world.pool.query(`insert into acceptance (row_id, partner_id, wanted_hash) values ($1, 'H-1', '\\x01')`, [row])
  await world.pool.query(`insert into submission_row (submission_id, row_id) values ($1, $2)`, [submission, row])
  return submission
}

const answer = async <T>(path: string) => JSON.parse(await api.text(path)) as T

test('tonight tells of no run that carried the data to another destination', async () => {
  await night(elsewhere)
  type Tonight = {
    run: object | null
    sentence: string
    fresh: boolean
    fresh_words: string
    typical_ms: number | null
  }
  const told = () => answer<Tonight>('/v1/tonight')
  expect(await told()).toMatchObject({
    run: null,
    sentence: 'No night has run yet for the destination in use.',
    fresh: false,
    typical_ms: null,
  })
  await expect(api.text('/freshz')).rejects.toThrow(/503.*No run has carried the data through/)
  const run = await night()
  expect(await told()).toMatchObject({ run: { run_id: run }, fresh: true, typical_ms: 3_600_000 })
})

test('the nights that went to another destination stay in the list of nights', async () => {
  const run = await night(elsewhere)
  expect(await answer('/v1/nights')).toMatchObject({ nights: [{ run_id: run }] })
})

test('the page of the service lists no task of another one, and the page of that run does', async () => {
  const [there, here] = [await night(elsewhere), await night()]
  const [first, second] = [await request(there), await request(here)]
  const listed = async (path: string, list: string) => {
    const found = (await answer<Record<string, { submission_id: number }[]>>(path))[list]
    return found?.map(({ submission_id }) => submission_id)
  }
  expect(await listed('/v1/service', 'tasks')).toEqual([second])
  expect(await listed(`/v1/runs/${there}/live`, 'submissions')).toEqual([first])
})

test('a request of a hotel names the destination that took it, where that is not the one in use', async () => {
  const [there, here] = [await night(elsewhere), await night()]
  const [first, second] = [await request(there), await request(here)]
  expect(await answer('/v1/hotels/H-1')).toMatchObject({
    submissions: [
      { submission_id: first, destination: 'staging' },
      { submission_id: second, destination: null },
    ],
  })
})
