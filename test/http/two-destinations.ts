import type { Config } from '../../src/config/schema.ts'
import { createDatabase, type Database } from '../../src/db/database.ts'
import { startWorld, type World } from '../helpers/world.ts'
import { type ReadingApi, readingApi } from './in-process.ts'

type Night = {
  /** The one in use unless another is named. */
  destination?: number | null
  job?: string
  /** The step that it is at, where it is under way. */
  at?: string | null
  verdict?: 'succeeded' | 'failed'
}

/** A ledger that went from one destination to another, and the routes that read over it. */
export type TwoDestinations = AsyncDisposable & {
  world: World
  db: Database
  config: Config
  api: ReadingApi
  /** The number of the destination `staging`, which was left. */
  elsewhere: number
  /** The first value of what a query returns. */
  numberOf(query: string, given?: unknown[]): Promise<number>
  /** A night that began an hour ago, and has ended if no step is named. */
  night(night?: Night): Promise<number>
  /** The one request of a run, which carried a row of the hotel H-1. */
  request(run: number): Promise<number>
  answer<T>(path: string): Promise<T>
}

/** @param change of the configuration of the world. */
export async function startTwoDestinations(change: (config: Config) => void = () => {}): Promise<TwoDestinations> {
  const world = await startWorld({ migrated: true, hotels: 1 })
  const api = readingApi(world, change)
  const config = world.config()
  change(config)
  const numberOf = async (query: string, given: unknown[] = []) => {
    const { rows } = await world.pool.query<Record<string, string>>(query, given)
    return Number(Object.values(rows[0] ?? {})[0])
  }
  const elsewhere = await numberOf(
    `insert into destination (name, schema_name, left_at) values ('staging', 'staging', now()) returning destination_id`,
  )
  return {
    world,
    db: createDatabase(world.pool),
    config,
    api,
    elsewhere,
    numberOf,
    night: async ({ destination = null, job = 'nightly-sync', at = null, verdict = 'succeeded' } = {}) =>
      await numberOf(
        `insert into run (job, trigger, scheduled_for, started_at, finished_at, state, step, verdict, destination_id)
         values ($2, 'cli', clock_timestamp(), now() - interval '1 hour', case when $3::text is null then now() end,
                 case when $3 is not null then 'running' when $4 = 'failed' then 'failed' else 'finished' end,
                 coalesce($3, 'report'), case when $3 is null then $4 end, coalesce($1, destination_in_use()))
         returning run_id`,
        [destination, job, at, verdict],
      ),
    request: async (run) => {
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
      await world.pool.query(`insert into acceptance (row_id, partner_id, wanted_hash) values ($1, 'H-1', '\\x01')`, [
        row,
      ])
      await world.pool.query(`insert into submission_row (submission_id, row_id) values ($1, $2)`, [submission, row])
      return submission
    },
    answer: async <T>(path: string) => JSON.parse(await api.text(path)) as T,
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}
