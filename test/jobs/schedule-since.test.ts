import { beforeEach, expect, it } from 'vitest'
import { type Config, settings } from '../../src/config/schema.ts'
import { retireSchedules, scheduleSince } from '../../src/db/runs/job-requests.ts'
import { lookAtRequests } from '../../src/jobs/answer-requests.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import { triggerJob } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { openFerry } from '../pipeline/push/ferry.ts'

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  for (const table of ['job_request', 'job_waiting'] as const) await ferry.ledger.db.deleteFrom(table).execute()
})

const runs = () =>
  ferry.ledger.db
    .selectFrom('run')
    .select(['trigger', 'scheduled_for'])
    .where('trigger', 'in', ['schedule', 'missed'])
    .orderBy('run_id')
    .execute()
const endRuns = () => ferry.ledger.pool.query(`update run set state = 'finished' where state = 'running'`)
const at = (text: string) => new Date(`2026-11-${text}:00Z`)

type Daemon = { jobs: Config['jobs']; deps: Deps; tick: (now: string) => Promise<void> }

/** A daemon that begins at a moment, with a schedule; it looks once, and whenever it is told to. */
async function daemon(
  began: string,
  schedule: string | null,
  work: (running: Daemon) => Promise<void>,
  missed: 'once' | 'skip' = 'once',
): Promise<void> {
  await using plain = ferry.deps('http://127.0.0.1:9')
  const { jobs } = settings.parse({ jobs: { 'nightly-sync': { schedule, missed } } })
  ferry.clock.at = at(began)
  const deps: Deps = { ...plain, config: { ...plain.config, jobs } }
  const scheduler = startScheduler(deps, nightlySync, ferry.clock.at)
  try {
    await scheduler.tick()
    await work({
      jobs,
      deps,
      tick: async (now) => {
        ferry.clock.at = at(now)
        await scheduler.tick()
      },
    })
  } finally {
    await scheduler.stop()
  }
}
const untilDown = async () => {}

it.each([
  ['once', 'running'],
  ['skip', 'skipped'],
] as const)(
  'a night that no daemon has ever been up for is missed all the same, where missed is %s',
  async (missed, state) => {
    await daemon('21T06:00', '30 2 * * *', untilDown, missed)
    expect(await runs()).toEqual([])
    await daemon('22T06:00', '30 2 * * *', untilDown, missed)
    const found = await ferry.ledger.db.selectFrom('run').select(['trigger', 'state', 'scheduled_for']).execute()
    expect(found).toEqual([{ trigger: 'missed', state, scheduled_for: at('22T02:30') }])
  },
)

it.each<[string, (jobs: Config['jobs']) => void, string]>([
  ['changed', (jobs) => Object.assign(jobs['nightly-sync'], { schedule: '0 6 * * *' }), '22T06:00'],
  [
    'set in another time zone',
    (jobs) => Object.assign(jobs['nightly-sync'], { timeZone: 'America/New_York' }),
    '22T03:00',
  ],
])('a schedule that is %s while the daemon is up begins with its next occurrence', async (_, change, next) => {
  await daemon('20T12:00', '0 22 * * *', async ({ jobs, tick }) => {
    await tick('20T22:00')
    await endRuns()
    change(jobs)
    await tick('21T12:00')
    expect(await runs()).toHaveLength(1)
    await tick(next)
    expect((await runs())[1]).toEqual({ trigger: 'schedule', scheduled_for: at(next) })
  })
})

it('a schedule that is changed just before it falls due begins with that occurrence', async () => {
  await daemon('20T12:00', '0 22 * * *', async ({ jobs, tick }) => {
    await tick('20T12:59')
    jobs['nightly-sync'].schedule = '0 13 * * *'
    await tick('20T13:00')
    expect(await runs()).toEqual([{ trigger: 'schedule', scheduled_for: at('20T13:00') }])
  })
})

it('a schedule that is set for a job which had one long ago begins with its next occurrence', async () => {
  await daemon('18T01:00', '30 2 * * *', async ({ jobs, tick }) => {
    await tick('18T02:30')
    await endRuns()
    jobs['nightly-sync'].schedule = null
    await tick('18T12:00')
    jobs['nightly-sync'].schedule = '30 2 * * *'
    await tick('20T12:00')
    expect(await runs()).toHaveLength(1)
    await tick('21T02:30')
    expect(await runs()).toHaveLength(2)
  })
})

it('a schedule that was changed while no daemon was up begins with its next occurrence', async () => {
  await daemon('20T12:00', '0 22 * * *', async ({ tick }) => {
    await tick('20T22:00')
    await endRuns()
  })
  await daemon('21T12:00', '0 6 * * *', async ({ tick }) => {
    expect(await runs()).toHaveLength(1)
    await tick('22T06:00')
    expect(await runs()).toHaveLength(2)
  })
})

it('a ledger that knows of no schedule yet goes on from the last run that its schedule brought', async () => {
  await ferry.ledger.pool.query(
    `insert into run (job, trigger, scheduled_for, state, step)
     values ('nightly-sync', 'schedule', $1, 'finished', 'report')`,
    [at('20T02:30')],
  )
  await daemon('21T06:00', '30 2 * * *', untilDown)
  expect(await runs()).toMatchObject([{}, { trigger: 'missed', scheduled_for: at('21T02:30') }])
})

it('a job that is removed and comes back begins with its next occurrence', async () => {
  await daemon('20T01:00', '30 2 * * *', async ({ tick }) => {
    await tick('20T02:30')
    await endRuns()
  })
  await retireSchedules(ferry.ledger.db, ['housekeeping'])
  await daemon('22T06:00', '30 2 * * *', async ({ tick }) => {
    expect(await runs()).toHaveLength(1)
    await tick('23T02:30')
    expect(await runs()).toHaveLength(2)
  })
})

it('two daemons with different schedules both start what falls due by theirs', async () => {
  await daemon('20T12:00', '0 22 * * *', async (evening) => {
    await daemon('20T12:01', '0 6 * * *', async (morning) => {
      for (const now of ['20T21:59', '20T22:00', '21T05:59', '21T06:00']) {
        await evening.tick(now)
        await morning.tick(now)
        await endRuns()
      }
    })
  })
  expect(await runs()).toEqual(['20T22:00', '21T06:00'].map((due) => ({ trigger: 'schedule', scheduled_for: at(due) })))
})

const sinceOf = (schedule: string, now: string) =>
  scheduleSince(ferry.ledger.db, nightlySync.name, { schedule, timeZone: 'UTC' }, at(now))

it('two daemons with different schedules each keep since when theirs counts, while both are up and after one begins again', async () => {
  await daemon('20T12:00', '0 22 * * *', async (evening) => {
    await daemon('20T13:00', '0 6 * * *', async (morning) => {
      await evening.tick('20T13:01')
      expect(await sinceOf('0 22 * * *', '21T01:00')).toEqual(at('20T12:00'))
      expect(await sinceOf('0 6 * * *', '21T01:00')).toEqual(at('20T13:00'))
      await daemon('20T14:00', '0 22 * * *', async ({ tick }) => {
        await morning.tick('20T14:01')
        await tick('20T14:02')
        expect(await sinceOf('0 22 * * *', '21T01:00')).toEqual(at('20T12:00'))
        expect(await sinceOf('0 6 * * *', '21T01:00')).toEqual(at('20T13:00'))
      })
    })
  })
})

it('a daemon that lacks a job retires no schedule that another daemon goes by', async () => {
  await daemon('20T12:00', '0 22 * * *', async ({ tick }) => {
    await retireSchedules(ferry.ledger.db, ['housekeeping'])
    await tick('20T12:01')
    expect(await sinceOf('0 22 * * *', '20T23:00')).toEqual(at('20T12:00'))
  })
})

it('a schedule that gave way to another begins with its next occurrence when it comes back', async () => {
  for (const [began, schedule] of [
    ['19T12:00', '0 22 * * *'],
    ['19T13:00', '0 6 * * *'],
    ['20T12:00', '0 22 * * *'],
  ] as const) {
    await daemon(began, schedule, untilDown)
    expect(await sinceOf(schedule, '20T13:00')).toEqual(at(began))
  }
  expect(await runs()).toEqual([])
})

it('a schedule that was seen by a clock which was ahead begins with its next occurrence once the clock is right', async () => {
  await daemon('30T06:00', '30 2 * * *', untilDown)
  await daemon('21T06:00', '30 2 * * *', async ({ tick }) => {
    await tick('22T02:30')
    expect(await runs()).toEqual([{ trigger: 'schedule', scheduled_for: at('22T02:30') }])
  })
})

it('a job that waited for its turn by a schedule that is gone keeps nothing waiting', async () => {
  await daemon('21T05:00', '0 6 * * *', async ({ jobs, deps, tick }) => {
    await triggerJob(deps, 'push', { trigger: 'http', by: 'ada' })
    await tick('21T06:00')
    jobs['nightly-sync'].schedule = '0 22 * * *'
    await tick('21T06:30')
    await endRuns()
    await ferry.ledger.db
      .insertInto('job_request')
      .values({ job: 'push', only_steps: null, run_id: null, reason: null, answered_at: null })
      .execute()
    await lookAtRequests(deps)
    const { state } = await ferry.ledger.db.selectFrom('job_request').select('state').executeTakeFirstOrThrow()
    expect(state).toBe('started')
  })
})
