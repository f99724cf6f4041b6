import { expect, it } from 'vitest'
import { notificationChecks, scheduleChecks } from '../../src/doctor/schedule-checks.ts'
import type { Found, Ward } from '../../src/doctor/ward.ts'
import { ended, ferry, withNews } from '../jobs/news-world.ts'

withNews()

/** What a check finds where push has a schedule, and the night has none. */
async function found(id: string, schedule = '30 2 * * *'): Promise<Found[]> {
  await using plain = ferry.deps('http://127.0.0.1:9')
  const { jobs, notify } = plain.config
  const config = {
    ...plain.config,
    jobs: { ...jobs, push: { ...jobs.push, schedule } },
    notify: { ...notify, url: null },
  }
  const ward = {
    now: () => ferry.clock.at,
    config: () => Promise.resolve(config),
    ledger: () => Promise.resolve({ db: ferry.ledger.db }),
  } as unknown as Ward
  return (await [...scheduleChecks, ...notificationChecks].find((check) => check.id === id)?.run(ward)) ?? []
}

it('the last runs are those of the jobs that have a schedule where the night has none', async () => {
  await ferry.ledger.db.deleteFrom('run').execute()
  expect(await found('last_runs')).toMatchObject([{ level: 'ok', what: 'There was no run of push yet' }])
  const run = await ended('failed', 'exchange_unreachable', {}, 'push')
  expect(await found('last_runs')).toMatchObject([
    { level: 'error', what: `Run ${run} failed: exchange_unreachable: Words.` },
    { level: 'warning', what: 'None of the last 1 runs of push carried the data through', todo: 'nightferry run push' },
  ])
})

it('the last runs of a job that is due once a week are warned of a day after one was due, and not five days a week', async () => {
  const sundays = '0 3 * * 0'
  const well = 'Run \\d+ ended well'
  const missing = 'No run of push has carried the data through since 2026-11-15 03:10 UTC'
  const at = async (time: string) => {
    ferry.clock.at = new Date(`2026-11-${time}:00Z`)
    return (await found('last_runs', sundays)).map(({ what }) => what)
  }
  await ferry.ledger.db.deleteFrom('run').execute()
  ferry.clock.at = new Date('2026-11-15T03:10:00Z')
  await ended('succeeded', undefined, {}, 'push')
  for (const time of ['18T12:00', '22T02:00', '22T12:00']) {
    expect(await at(time), time).toEqual([expect.stringMatching(new RegExp(`^${well}`))])
  }
  expect(await at('23T03:01')).toEqual([expect.stringMatching(new RegExp(`^${well}`)), missing])
})

it('nobody who is told of a scheduled job other than the night is missed', async () => {
  expect((await found('notify_receiver')).map(({ subject }) => subject)).toEqual(['notify.url', 'notify.heartbeatUrl'])
})
