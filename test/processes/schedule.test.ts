import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../../src/config/load-config.ts'
import { requireSettings } from '../../src/config/require-settings.ts'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { createExchangeClient } from '../../src/exchange/client.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import { dueOccurrence } from '../../src/jobs/due-occurrence.ts'
import { startEngine } from '../../src/jobs/engine.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { listPages } from '../../src/pipeline/pull/search/search-pages.ts'
import { inspectedLogger, troubleTo } from '../helpers/leaks.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { demoConfig, packagedContract } from '../helpers/world.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

type Setting = { schedule: string; timeZone: string; missed?: 'skip' | 'once' }

/** A daemon that asks for looks and does not work them off, with a clock that stands where it is put. */
async function daemon(setting: Setting, url: string) {
  const overrides = Object.entries(setting).map(([key, value]) => `jobs.nightly-sync.${key}=${value}`)
  const config = loadConfig({ file: demoConfig, environment: {}, overrides })
  const pool = createPool(url, {
    max: 4,
    applicationName: 'nightferry tests',
    searchPath: schemaName,
    onIdleError: () => {},
  })
  const clock = { at: new Date(0) }
  const engine = await startEngine(url, config, () => {})
  const contract = loadContract(packagedContract)
  const required = requireSettings(config)
  const exchange = createExchangeClient({ ...config.exchange, ...required, contract })
  const deps: Deps = {
    config,
    required,
    contract,
    pool,
    db: createDatabase(pool),
    exchange,
    looks: engine.looks,
    endSearch: listPages,
    logger: inspectedLogger(),
    tellTrouble: troubleTo(inspectedLogger()),
    now: () => clock.at,
  }
  onTestFinished(async () => {
    await engine.stop()
    await exchange.close()
    await pool.end()
  })
  const begin = (at: Date) => {
    clock.at = at
    const scheduler = startScheduler(deps, nightlySync, at)
    onTestFinished(scheduler.stop)
    return async (now: Date) => {
      clock.at = now
      await scheduler.tick()
    }
  }
  const runs = async () =>
    (
      await pool.query<{ trigger: string; state: string; scheduled_for: Date }>(
        'select trigger, state, scheduled_for from run order by scheduled_for',
      )
    ).rows
  const endRun = () => pool.query(`update run set state = 'finished' where state = 'running'`)
  return { begin, runs, endRun }
}

function localDay(at: Date, timeZone: string): string {
  return at.toLocaleDateString('en-CA', { timeZone })
}

const nights: [string, Setting, string][] = [
  ['the clocks go forward in Copenhagen', { schedule: '30 2 * * *', timeZone: 'Europe/Copenhagen' }, '2026-03-29'],
  ['the clocks go back in Copenhagen', { schedule: '30 2 * * *', timeZone: 'Europe/Copenhagen' }, '2026-10-25'],
  ['the clocks go forward in New York', { schedule: '30 2 * * *', timeZone: 'America/New_York' }, '2026-03-08'],
  ['the clocks go back in New York', { schedule: '30 1 * * *', timeZone: 'America/New_York' }, '2026-11-01'],
  [
    'the clocks go forward at midnight in Santiago',
    { schedule: '15 0 * * *', timeZone: 'America/Santiago' },
    '2026-09-06',
  ],
]

test.each(nights)('the daemon starts one run per local day around the night in which %s', async (_, setting, night) => {
  const { url } = await testDatabase()
  const { begin, runs, endRun } = await daemon(setting, url)
  const from = new Date(`${night}T12:00:00Z`).getTime() - 48 * hourMs
  const tick = begin(new Date(from))
  for (let at = from; at <= from + 96 * hourMs; at += 10 * minuteMs) {
    await tick(new Date(at))
    await endRun()
  }
  const found = await runs()
  expect(found.map((run) => run.trigger)).toEqual(found.map(() => expect.stringMatching(/^(schedule|missed)$/)))
  const days = found.map((run) => localDay(run.scheduled_for, setting.timeZone))
  const wanted = [-1, 0, 1, 2].map((day) =>
    new Date(new Date(`${night}T12:00:00Z`).getTime() + day * 24 * hourMs).toISOString().slice(0, 10),
  )
  expect(days).toEqual(wanted)
})

const atThree: Setting = { schedule: '0 3 * * *', timeZone: 'UTC' }

test.each<['skip' | 'once', string, string]>([
  ['once', 'missed', 'running'],
  ['skip', 'missed', 'skipped'],
])('the setting %s keeps the newest of three missed nights and forgets the others', async (missed, trigger, state) => {
  const { url } = await testDatabase()
  const { begin, runs, endRun } = await daemon({ ...atThree, missed }, url)
  await begin(new Date('2026-11-10T00:00:00Z'))(new Date('2026-11-10T03:00:10Z'))
  await endRun()
  const tick = begin(new Date('2026-11-13T09:00:00Z'))
  await tick(new Date('2026-11-13T09:00:00Z'))
  await tick(new Date('2026-11-13T09:01:00Z'))
  expect(await runs()).toEqual([
    { trigger: 'schedule', state: 'finished', scheduled_for: new Date('2026-11-10T03:00:00Z') },
    { trigger, state, scheduled_for: new Date('2026-11-13T03:00:00Z') },
  ])
})

test('a new installation begins with the first occurrence after its own start', async () => {
  const { url } = await testDatabase()
  const { begin, runs } = await daemon(atThree, url)
  const tick = begin(new Date('2026-11-10T09:00:00Z'))
  await tick(new Date('2026-11-10T09:00:00Z'))
  await tick(new Date('2026-11-11T02:59:59Z'))
  expect(await runs()).toEqual([])
  await tick(new Date('2026-11-11T03:00:00Z'))
  expect(await runs()).toMatchObject([{ trigger: 'schedule', scheduled_for: new Date('2026-11-11T03:00:00Z') }])
})

test('one of two daemons that see the same occurrence at once starts the run', async () => {
  const { url } = await testDatabase()
  const daemons = [await daemon(atThree, url), await daemon(atThree, url)]
  const ticks = daemons.map(({ begin }) => begin(new Date('2026-11-10T09:00:00Z')))
  await Promise.all(ticks.map((tick) => tick(new Date('2026-11-11T03:00:00Z'))))
  expect(await daemons[0]?.runs()).toMatchObject([{ trigger: 'schedule', state: 'running' }])
})

test('a clock that goes back starts no occurrence again', async () => {
  const { url } = await testDatabase()
  const { begin, runs, endRun } = await daemon(atThree, url)
  const tick = begin(new Date('2026-11-10T09:00:00Z'))
  await tick(new Date('2026-11-11T03:00:20Z'))
  await endRun()
  await tick(new Date('2026-11-11T02:58:00Z'))
  await tick(new Date('2026-11-11T03:00:00Z'))
  expect(await runs()).toHaveLength(1)
})

test.each([
  ['61 3 * * *', 'UTC'],
  ['every night', 'UTC'],
  ['0 3 * * *', 'Europe/Kopenhagen'],
])("the schedule '%s' in %s is refused with its path", (schedule, timeZone) => {
  const due = () => dueOccurrence('nightly-sync', { schedule, timeZone }, new Date())
  expect(due).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(due).toThrow(/jobs\.nightly-sync\.schedule: /)
})

test('nothing falls due without a schedule', () => {
  expect(dueOccurrence('nightly-sync', { schedule: null, timeZone: 'UTC' }, new Date())).toBeNull()
})
