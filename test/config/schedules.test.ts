import { describe, expect, test } from 'vitest'
import { ConfigError, type ConfigProblem } from '../../src/config/environment.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { temporaryFile } from './temporary-file.ts'

const variable = 'NIGHTFERRY_JOBS_NIGHTLY_SYNC_SCHEDULE'

function scheduleIn(environment: Record<string, string>): string | null {
  return loadConfig({ file: null, environment }).jobs['nightly-sync'].schedule
}

function problems(action: () => unknown): readonly ConfigProblem[] {
  try {
    action()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}

const fields = 'a cron expression has five (minute, hour, day of the month, month, day of the week), as in 30 2 * * *'
const hash = 'has an H, which stands for another time at each look; write the time itself, as in 30 2 * * *'

describe('a schedule', () => {
  test.each([
    ['0 2 * *', 4],
    ['15 14 1 *', 4],
    ['30 2 * * * *', 6],
    ['0 30 2 * * *', 6],
    ['2', 1],
    ['nightly', 1],
    ['@nightly @daily', 2],
    ['   ', 0],
  ])('of %j, which has %i fields, is refused with what a schedule looks like', (schedule, count) => {
    const message = `has ${count} field${count === 1 ? '' : 's'}, and ${fields}`
    const path = 'jobs.nightly-sync.schedule'
    expect(problems(() => scheduleIn({ [variable]: schedule }))).toEqual([
      { path, message: `${message} (set by ${variable})` },
    ])
    const file = temporaryFile(
      `pull: { searches: [{ name: all, search: companiesSearch, schedule: ${JSON.stringify(schedule)} }] }`,
    )
    expect(problems(() => loadConfig({ file, environment: {} }))).toEqual([
      { path: 'pull.searches.0.schedule', message },
    ])
  })

  test.each(['H 2 * * *', 'H(0-29) 2 * * *', '30 H/6 * * *', '30 2 * * 1-H', '30 2 * * thu,H'])(
    'of %j is refused, because its H is drawn by lot',
    (schedule) => {
      expect(problems(() => scheduleIn({ [variable]: schedule }))).toEqual([
        { path: 'jobs.nightly-sync.schedule', message: `${hash} (set by ${variable})` },
      ])
    },
  )

  test('once a second is refused, because a night cannot begin as often', () => {
    expect(problems(() => scheduleIn({ [variable]: '@secondly' }))).toHaveLength(1)
  })

  test.each([
    '30 2 * * *',
    ' 30  2 * * * ',
    '*/15 * * * *',
    '30 2 * * mon-fri',
    '30 2 * * THU',
    '0 2 L * *',
    '0 2 * * 5L',
    '0 2 * * 1#2',
    '0 2 ? mar,oct sun',
    '@daily',
    '@weekdays',
  ])('of %j is taken as it is', (schedule) => {
    expect(scheduleIn({ [variable]: schedule })).toBe(schedule)
  })
})
