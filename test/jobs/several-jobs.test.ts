import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { isPaused } from '../../src/db/runs/job-requests.ts'
import { lookAtRequests } from '../../src/jobs/answer-requests.ts'
import { stepsOf } from '../../src/jobs/job.ts'
import { pauseJob, resumeJob } from '../../src/jobs/job-standings.ts'
import { nightlySync } from '../../src/jobs/known-jobs.ts'
import { triggerJob } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

let ferry: Ferry
let deps: Deps & AsyncDisposable
beforeAll(async () => {
  ferry = await openFerry()
  deps = ferry.deps('http://127.0.0.1:9')
})
beforeEach(async () => {
  await ferry.clear()
  await ferry.ledger.db.deleteFrom('job_request').execute()
  await ferry.ledger.db.deleteFrom('job_pause').execute()
})
afterAll(async () => {
  await deps[Symbol.asyncDispose]()
  await ferry.close()
})

const asked = { trigger: 'http', by: 'ada' } as const
const request = (job: string, only: string[] | null = null) =>
  ferry.ledger.db
    .insertInto('job_request')
    .values({ job, only_steps: only, run_id: null, reason: null, answered_at: null })
    .execute()
const requests = () => ferry.ledger.db.selectFrom('job_request').selectAll().orderBy('request_id').execute()
const end = () => ferry.ledger.db.updateTable('run').set({ state: 'finished' }).execute()

it('only one of the jobs that work with the ledger begins, however many are asked for at once', async () => {
  const names = ['nightly-sync', 'push', 'pull-calculators', 'refresh-reference']
  const results = await Promise.allSettled(names.map((name) => triggerJob(deps, name, asked)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const result of results) {
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'job_busy' })
  }
})

it('housekeeping begins beside a night, and a second trigger joins it', async () => {
  await triggerJob(deps, 'nightly-sync', asked)
  const first = await triggerJob(deps, 'housekeeping', asked)
  const second = await triggerJob(deps, 'housekeeping', asked)
  expect([first.joined, second.joined]).toEqual([false, true])
  expect(second.run.run_id).toBe(first.run.run_id)
})

it('what was asked for is stored with the run, which begins at the first step asked for', async () => {
  const { run } = await triggerJob(deps, 'push', { ...asked, only: ['push'] })
  expect(run).toMatchObject({ step: 'push', asked: { only: ['push'] }, asked_by: 'ada' })
})

it('the last step and what a step cannot do without are part of every run', () => {
  const stepsWith = (...only: string[]) => stepsOf(nightlySync, { only }).map(({ name }) => name)
  expect(stepsWith('pull')).toEqual(['pull', 'reconcile', 'report'])
  expect(stepsWith('push', 'extract')).toEqual(['extract', 'preflight', 'push', 'report'])
  expect(stepsWith('extract')).toEqual(['extract', 'report'])
})

it('triggerRun refuses an unknown job, an unknown step and a paused job, each by its code', async () => {
  await expect(triggerJob(deps, 'nightly', asked)).rejects.toMatchObject({ code: 'job_unknown' })
  const unknown = triggerJob(deps, 'push', { ...asked, only: ['pull'] })
  await expect(unknown).rejects.toMatchObject({ code: 'job_option_refused' })
  const by = { actor: { user: 'ada', host: 'here' }, at: new Date() }
  expect(await pauseJob(deps.db, 'push', { ...by, reason: 'audit' })).toBe(true)
  expect(await pauseJob(deps.db, 'push', { ...by, reason: null })).toBe(false)
  await expect(triggerJob(deps, 'push', asked)).rejects.toMatchObject({ code: 'job_paused' })
  expect(await resumeJob(deps.db, 'push', by)).toBe(true)
  expect(await isPaused(deps.db, 'push')).toBe(false)
  expect(await triggerJob(deps, 'push', asked)).toMatchObject({ joined: false })
})

it('a row that asks for a run is answered with the run or the reason, and waits while another job runs', async () => {
  await request('push')
  await request('no-such-job')
  await request('pull-calculators')
  await lookAtRequests(deps)
  const [push, unknown, pull] = await requests()
  expect(push?.state).toBe('started')
  expect(unknown).toMatchObject({ state: 'refused', reason: expect.stringContaining('job_unknown') })
  expect(pull?.state).toBe('waiting')
  await end()
  await lookAtRequests(deps)
  expect((await requests()).at(-1)?.state).toBe('started')
})

it('a run that is to read from a moment on says which streams are read from before it, and begins all the same', async () => {
  const quiet = '2026-01-02 03:04:05+00'
  const names = ['properties', 'omissions']
  const streams = Object.fromEntries(names.map((name) => [name, { query: 'select 1', cursor: 'at' }]))
  const config = settings.parse({
    streams: { ...streams, standard_holders: { query: 'select 1', capture: 'snapshot' } },
  })
  for (const [stream, watermark] of Object.entries({
    properties: quiet,
    omissions: '2999-01-01 00:00:00+00',
    standard_holders: quiet,
  })) {
    await deps.db
      .insertInto('stream_watermark')
      .values({ stream, watermark, run_id: await ferry.ledger.startRun() })
      .execute()
  }
  await end()
  const started = await triggerJob({ ...deps, config }, 'push', { ...asked, since: '4h' })
  expect(started).toMatchObject({ joined: false, olderWatermarks: [{ stream: 'properties', watermark: quiet }] })
  expect(started.run.asked).toEqual({ since: '4h' })
})
