import { expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { startScheduler } from '../../src/jobs/scheduler.ts'
import { expectNews, tellNews } from '../../src/jobs/tell-news.ts'
import { resumeInterrupted, triggerJob } from '../../src/jobs/trigger-run.ts'
import { json, service } from '../pipeline/push/service.ts'
import { atWork, config, ended, ending, ferry, jobOf, newestRun, step, withEngines } from './working-engine.ts'

withEngines()

const job = jobOf(
  step('first', async () => 'done'),
  ending,
)

/** As in a ledger that was restored from a backup: the queue is not part of it. */
async function runWithoutLooks(name: string): Promise<void> {
  await ferry.ledger.db
    .insertInto('run')
    .values({ job: name, trigger: 'schedule', state: 'running', step: 'first', scheduled_for: new Date() })
    .execute()
}

it('the run of a job that no process knows ends although no look at it was left, and the night that is due begins', async () => {
  await runWithoutLooks('search:gone')
  await using deps = await atWork(job, undefined, config, 'foreign')
  expect(await resumeInterrupted(deps, [job])).toEqual(['search:gone'])
  expect(await ended()).toMatchObject({
    job: 'search:gone',
    state: 'failed',
    failure: { code: 'job_unknown', message: expect.stringContaining('search:gone') },
  })
  const due = {
    ...deps,
    config: { ...config, ...settings.parse({ jobs: { 'nightly-sync': { schedule: '* * * * *' } } }) },
  }
  const scheduler = startScheduler(due, nightlySync, new Date(Date.now() - 3_600_000))
  await scheduler.tick()
  await scheduler.stop()
  expect(await newestRun()).toMatchObject({ job: 'nightly-sync', trigger: 'schedule' })
})

it('a run of a known job goes on although no look at it was left', async () => {
  await runWithoutLooks(job.name)
  await using deps = await atWork(job)
  expect(await resumeInterrupted(deps, [job])).toEqual([])
  expect(await ended()).toMatchObject({ state: 'finished', resumed: 1 })
})

it('people are told that the run of a job that no process knows has failed', async () => {
  await using server = await service({ '/hook': [json({})] })
  await runWithoutLooks('search:gone')
  await using deps = await atWork(job, undefined, config, 'foreign')
  const told = { ...deps, config: { ...config, notify: { ...config.notify, url: `${server.url}/hook` } } }
  for (const name of await resumeInterrupted(deps, [job])) await expectNews(told, { name })
  await ended()
  expect(await tellNews(told, { name: 'search:gone' })).toBe(true)
  expect(server.seen.map(({ body }) => JSON.parse(body.toString()))).toMatchObject([
    { event: 'failed', job: 'search:gone' },
  ])
})

it('a job that waits for the run of a job that the configuration has not says what ends that', async () => {
  await runWithoutLooks('search:gone')
  await using deps = ferry.deps('http://127.0.0.1:9')
  await expect(triggerJob(deps, nightlySync.name, { trigger: 'cli', by: 'ada' })).rejects.toMatchObject({
    code: 'job_busy',
    message: expect.stringContaining('nightferry serve'),
  })
})
