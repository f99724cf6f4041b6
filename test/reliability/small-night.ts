import { appendFileSync } from 'node:fs'
import type pg from 'pg'
import { expect } from 'vitest'
import { type Ended, nightferry, type Running, start, workingFolder } from '../cli/nightferry-process.ts'
import { type FinalTables, finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

/** How many nights a test plays: XS in CI, S by itself, M and L by hand. See docs/reliability.md. */
export function ofSize<T>(sizes: { XS?: T; S: T; M: T; L: T }): T {
  const size = process.env.RELIABILITY_SIZE ?? 'S'
  if (size === 'XS') return sizes.XS ?? sizes.S
  if (size !== 'S' && size !== 'M' && size !== 'L') throw new Error(`RELIABILITY_SIZE is ${size}, not XS, S, M or L`)
  return sizes[size]
}

const command = ['run', 'nightly-sync', '--json', '--config', demoConfig]

/** Small requests, so that a small night has several waves and pages, and little patience where an answer was lost. */
const settings = [
  'push.maxCompaniesPerMapping=5',
  'push.maxAnswersPerUpsert=30',
  'push.maxCalculatorsPerUpsert=40',
  'push.uncertainGraceMs=300',
  // In a first night whose answers are lost the list of tasks may reach back to none: a task ends within seconds.
  'push.unlistedGraceMs=30000',
].flatMap((setting) => ['--set', setting])

/** A world of some hotels, and the verb that runs a night in it. */
export type SmallNight = AsyncDisposable & {
  world: World
  /** Where its processes work, and the command line after the program. */
  folder: string
  args: readonly string[]
  /** Runs a night within the process of the test. */
  run(environment?: Record<string, string>): Promise<Ended>
  /** Starts a night as a process of its own. */
  start(environment?: Record<string, string>): Running
}

export async function smallNight(hotels = 12): Promise<SmallNight> {
  await using made = new AsyncDisposableStack()
  const world = made.use(await startWorld({ hotels, pageSize: Math.max(4, Math.ceil(hotels / 20)) }))
  const folder = made.use(await workingFolder())
  const everything = made.move()
  const args = [...command, ...settings]
  return {
    world,
    folder: folder.path,
    args,
    run: (environment = {}) => nightferry(folder.path, args, { ...world.environment(), ...environment }),
    start: (environment = {}) => start(folder.path, args, { ...world.environment(), ...environment }),
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

/** Requests that may be under way at once, so that one fault may lose the answers of as many. */
export const atOnce = 4

/**
 * Exit codes of a night that came to its end: the service does not know every fiftieth hotel, which makes it partial.
 */
export const wholeCodes: readonly (number | null)[] = [0, 3]

/** The tables that an uninterrupted night leaves behind. */
export async function calmTables(hotels?: number): Promise<FinalTables> {
  await using calm = await smallNight(hotels)
  const ended = await calm.run()
  expect(wholeCodes, ended.stderr).toContain(ended.code)
  return await finalTables(calm.world.pool)
}

/**
 * Nothing was lost, nothing went too early, no two requests in flight held one row, every task at the service is of a
 * request that the ledger knows, and no more requests were repeated than could have lost their answer.
 * @param pool of Nightferry's database, if that is not the one of the world.
 */
export async function expectSameNight(
  { world }: SmallNight,
  calm: FinalTables,
  answersLost: number,
  pool: pg.Pool = world.pool,
): Promise<void> {
  expect(await finalTables(pool)).toEqual(calm)
  expect(await sentTooEarly(world.sandboxPool)).toEqual([])
  expect(await unfinishedTogether(world.sandboxPool)).toEqual([])
  const { sent, repeated } = await requestsOf(pool)
  noteRequests({ test: expect.getState().currentTestName ?? '', sent, repeated, answersLost })
  expect(await tasksAt(world.sandboxPool)).toBeLessThanOrEqual(sent)
  expect(repeated).toBeLessThanOrEqual(answersLost)
}

/** Adds a line to the file that RELIABILITY_TALLY names, so that a person can add up what was repeated. */
function noteRequests(night: { test: string; sent: number; repeated: number; answersLost: number }): void {
  const file = process.env.RELIABILITY_TALLY
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(night)}\n`)
}

async function requestsOf(pool: pg.Pool): Promise<{ sent: number; repeated: number }> {
  const { rows } = await pool.query<{ sent: number; repeated: number }>(
    `select coalesce(sum(attempts), 0)::int as sent, coalesce(sum(greatest(attempts - 1, 0)), 0)::int as repeated
     from submission`,
  )
  return rows[0] ?? { sent: 0, repeated: 0 }
}

async function tasksAt(sandboxPool: pg.Pool): Promise<number> {
  const { rows } = await sandboxPool.query<{ tasks: number }>(
    'select count(distinct correlation_id)::int as tasks from sandbox.request_log where correlation_id is not null',
  )
  return rows[0]?.tasks ?? 0
}
