import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { nightferry, start, workingFolder } from '../cli/nightferry-process.ts'
import { type FinalTables, finalTables } from '../helpers/final-tables.ts'
import { sentTooEarly, unfinishedTogether, upsertsReceived } from '../helpers/request-log.ts'
import { demoConfig, startWorld, type World } from '../helpers/world.ts'

/** The size of the demonstration. */
const hotels = 200

const command = ['run', 'nightly-sync', '--json', '--config', demoConfig]
const limits = [
  ['push.maxCompaniesPerMapping', '70'],
  ['push.maxAnswersPerUpsert', '400'],
  ['push.maxCalculatorsPerUpsert', '600'],
  ['push.uncertainGraceMs', '300'],
].flatMap(([name, value]) => ['--set', `${name}=${value}`])

/** Moments of a run, each as a question that stays true once it is; in the order in which they come. */
const moments: [name: string, reached: string][] = [
  ['the run has just begun', 'select exists (select from run) as reached'],
  ['one stream is read', 'select exists (select from run_stream) as reached'],
  [
    'every stream is read',
    "select count(*) = 7 or exists (select from run where step <> 'extract') as reached from run_stream",
  ],
  ['a submission is being sent', "select exists (select from submission where state <> 'planned') as reached"],
  ['a mapping is accepted', 'select exists (select from submission where correlation_id is not null) as reached'],
  ['the first mapping is settled', "select exists (select from submission where state = 'settled') as reached"],
  [
    'upserts are in flight',
    "select exists (select from submission where kind <> 'company_mappings' and attempts > 0) as reached",
  ],
  ['five requests are settled', "select count(*) >= 5 as reached from submission where state = 'settled'"],
  [
    'the search is accepted',
    "select exists (select from submission where kind = 'calculators_search' and correlation_id is not null) as reached",
  ],
  ['one page is loaded', "select exists (select from search_page where state = 'loaded') as reached"],
]

async function world(): Promise<World> {
  return await startWorld({ hotels, pageSize: 20, durations: { processing: { companyMappings: { baseMs: 150 } } } })
}

async function untilReached({ pool }: World, query: string, ended: Promise<unknown>): Promise<void> {
  let over = false
  void ended.then(() => {
    over = true
  })
  while (!over) {
    // Before the first migration there is no table to ask.
    const answer = await pool.query<{ reached: boolean }>(query).catch(() => undefined)
    if (answer?.rows[0]?.reached === true) return
    await delay(2)
  }
  throw new Error('the run ended before the moment came')
}

describe('kill -9 of the running process', () => {
  let uninterrupted: FinalTables

  beforeAll(async () => {
    await using calm = await world()
    await using folder = await workingFolder()
    const ended = await nightferry(folder.path, [...command, ...limits], calm.environment())
    expect(ended, ended.stderr).toMatchObject({ code: 3 })
    uninterrupted = await finalTables(calm.pool)
    expect(uninterrupted.calculator_values?.rows).toBeGreaterThan(10_000)
  })

  it.each(moments)('loses nothing when %s', async (_name, reached) => {
    await using place = await world()
    await using folder = await workingFolder()
    const victim = start(folder.path, [...command, ...limits], place.environment())
    await untilReached(place, reached, victim.ended)
    victim.child.kill('SIGKILL')
    if (victim.child.exitCode === null && victim.child.signalCode === null) await once(victim.child, 'exit')
    expect(victim.child.signalCode).toBe('SIGKILL')
    const interrupted = await place.pool.query('select state from run')
    expect(interrupted.rows).toEqual([{ state: 'running' }])

    const resumed = await nightferry(folder.path, [...command, ...limits], place.environment())
    expect(resumed, resumed.stderr).toMatchObject({ code: 3 })
    const report = JSON.parse(resumed.stdout) as { run_id: number; resumed: number; verdict: string }
    expect(report).toMatchObject({ run_id: 1, resumed: 1, verdict: 'partial' })

    expect(await finalTables(place.pool)).toEqual(uninterrupted)
    expect(await sentTooEarly(place.sandboxPool)).toEqual([])
    expect(await unfinishedTogether(place.sandboxPool)).toEqual([])
    expect(await upsertsReceived(place.sandboxPool)).toBeGreaterThan(10)
  })
})
