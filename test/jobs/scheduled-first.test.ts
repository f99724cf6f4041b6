import { beforeEach, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { noteWaiting } from '../../src/db/runs/job-requests.ts'
import { lookAtRequests } from '../../src/jobs/answer-requests.ts'
import { pauseJob } from '../../src/jobs/job-standings.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import { triggerJob } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { ofThisFile } from '../helpers/of-this-file.ts'
import { openFerry } from '../pipeline/push/ferry.ts'

const asked = { trigger: 'http', by: 'ada' } as const

const ferry = await ofThisFile(openFerry())
beforeEach(async () => {
  await ferry.clear()
  for (const table of ['job_request', 'job_pause', 'job_waiting'] as const)
    await ferry.ledger.db.deleteFrom(table).execute()
})

const request = (job: string) =>
  ferry.ledger.db
    .insertInto('job_request')
    .values({ job, only_steps: null, run_id: null, reason: null, answered_at: null })
    .execute()
const states = async () =>
  (await ferry.ledger.db.selectFrom('job_request').select('state').orderBy('request_id').execute()).map(
    ({ state }) => state,
  )
const end = () => ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()
const underWay = () =>
  ferry.ledger.db.selectFrom('run').select(['job', 'trigger']).where('state', '=', 'running').execute()

/** A push is under way when the night falls due, and another push is asked for. */
async function nightInWaiting(work: (deps: Deps, tick: () => Promise<void>) => Promise<void>): Promise<void> {
  await using plain = ferry.deps('http://127.0.0.1:9')
  ferry.clock.at = new Date('2026-11-21T02:00:00Z')
  const jobs = { 'nightly-sync': { schedule: '30 2 * * *' } }
  const deps: Deps = { ...plain, config: { ...plain.config, jobs: settings.parse({ jobs }).jobs } }
  const scheduler = startScheduler(deps, nightlySync, ferry.clock.at)
  try {
    await triggerJob(deps, 'push', asked)
    ferry.clock.at = new Date('2026-11-21T02:30:00Z')
    await scheduler.tick()
    await end()
    await work(deps, scheduler.tick)
  } finally {
    await scheduler.stop()
  }
}

it('a job whose scheduled time has come begins before what programs ask for by rows', async () => {
  await nightInWaiting(async (deps, tick) => {
    await request('push')
    await lookAtRequests(deps)
    expect(await underWay()).toEqual([])
    await tick()
    expect(await underWay()).toEqual([{ job: 'nightly-sync', trigger: 'schedule' }])
    await lookAtRequests(deps)
    expect(await states()).toEqual(['waiting'])
    await end()
    await lookAtRequests(deps)
    expect(await underWay()).toEqual([{ job: 'push', trigger: 'table' }])
    expect(await states()).toEqual(['started'])
  })
})

it('a request by a row for the very job that waits for its turn begins it, and housekeeping begins beside it', async () => {
  await nightInWaiting(async (deps) => {
    await request('housekeeping')
    await request('nightly-sync')
    await lookAtRequests(deps)
    expect(await states()).toEqual(['started', 'started'])
  })
})

it('a note that a job waits, which another daemon left when it had begun, keeps nothing waiting', async () => {
  await nightInWaiting(async (deps, tick) => {
    await tick()
    await noteWaiting(deps.db, 'nightly-sync', new Date('2026-11-21T02:30:00Z'))
    await end()
    await request('push')
    await lookAtRequests(deps)
    expect(await states()).toEqual(['started'])
  })
})

it('a job that fell due before clocks were put back begins before what programs ask for in the hour that they repeat', async () => {
  await using plain = ferry.deps('http://127.0.0.1:9')
  ferry.clock.at = new Date('2026-10-25T00:20:00Z')
  const { jobs } = settings.parse({
    jobs: { 'nightly-sync': { schedule: '30 2 * * *', timeZone: 'Europe/Copenhagen' } },
  })
  const deps: Deps = { ...plain, config: { ...plain.config, jobs } }
  const scheduler = startScheduler(deps, nightlySync, ferry.clock.at)
  try {
    await triggerJob(deps, 'push', asked)
    ferry.clock.at = new Date('2026-10-25T00:30:00Z')
    await scheduler.tick()
    ferry.clock.at = new Date('2026-10-25T01:01:00Z')
    await end()
    await request('push')
    await lookAtRequests(deps)
    expect(await underWay()).toEqual([])
    await scheduler.tick()
    expect(await underWay()).toEqual([{ job: 'nightly-sync', trigger: 'schedule' }])
  } finally {
    await scheduler.stop()
  }
})

it('a scheduled job that is paused keeps nothing waiting', async () => {
  await nightInWaiting(async (deps) => {
    await pauseJob(deps.db, 'nightly-sync', {
      actor: { user: 'ada', host: 'here' },
      at: deps.now(),
      reason: null,
    })
    await request('push')
    await lookAtRequests(deps)
    expect(await states()).toEqual(['started'])
  })
})
