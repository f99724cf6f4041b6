import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import type { RunTrigger } from '../../src/db/tables/run-tables.ts'
import type { Job } from '../../src/jobs/job.ts'
import { lookAtSubmission } from '../../src/pipeline/push/look-at-submission.ts'
import { planWave } from '../../src/pipeline/push/waves/plan-wave.ts'
import { contract } from '../exchange/test-client.ts'
import { patience } from '../helpers/patience.ts'
import { described } from '../pipeline/push/generic/kinds.ts'
import { json, service } from '../pipeline/push/service.ts'
import {
  atWork,
  config,
  ended,
  ending,
  engineOf,
  engines,
  ferry,
  jobOf,
  newestRun,
  step,
  trigger,
  withEngines,
} from './working-engine.ts'

withEngines()

/** Waits until a process has failed at a look, which the queue hands out again. */
async function lookIsLeft(queue: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rows } = await sql`
      select from nightferry_queue.job where name = ${queue} and state = 'retry'`.execute(ferry.ledger.db)
    expect(rows).toHaveLength(1)
  }, patience)
}

describe('two daemons of one database that are configured for different services', () => {
  const inUse = 'http://127.0.0.1:9'
  const other = 'http://127.0.0.1:10'
  const many = Array.from({ length: 12 }, (_, at) => step(`step ${at}`, async () => 'done'))
  const job = jobOf(
    step('first', async () => 'done'),
    ...many,
    ending,
  )

  /** The ledger was sent to the first service. */
  async function sentBefore(): Promise<void> {
    await using deps = await atWork(job, inUse)
    await trigger(deps, job)
    expect(await ended()).toMatchObject({ state: 'finished' })
    await engines.pop()?.stop()
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'a' } }], true)
    await sql`update acceptance set outcome = 'confirmed'`.execute(ferry.ledger.db)
  }

  it.each<[string, RunTrigger]>([
    ['the schedule', 'schedule'],
    ['a person', 'cli'],
  ])('the one that is configured otherwise leaves a run that %s started to the other', async (_, by) => {
    await sentBefore()
    await using old = await atWork(job, other, config, 'foreign')
    await trigger(old, job, by)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await newestRun()).toMatchObject({ state: 'running', step: 'first' })
    await using _right = await atWork(job, inUse, config, 'foreign')
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('the run ends and says why when no other has taken it for as long as faults are tolerated', async () => {
    await sentBefore()
    await using old = await atWork(job, other, config, 'foreign')
    await trigger(old, job)
    expect(await ended()).toMatchObject({ state: 'failed', step: 'first' })
  })
})

describe('two daemons of one database of which one has a job that the other has not yet', () => {
  const known: Job = {
    ...jobOf(
      step('first', async () => 'done'),
      ending,
    ),
    name: 'search:all_standards',
  }
  const other = jobOf(ending)
  const newer = jobOf(
    step('of a newer version', async () => 'done'),
    ending,
  )

  it.each([
    ['a job', other, known],
    ['a step', other, newer],
  ])('the one that does not know %s leaves its run to the other', async (_, theirs, ours) => {
    await using without = await atWork(theirs, undefined, config, 'foreign')
    await trigger(without, ours)
    await lookIsLeft('look-at-run')
    expect(await newestRun()).toMatchObject({ state: 'running' })
    await engines.pop()?.stop()
    await using _right = await atWork(ours, undefined, config, 'foreign')
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('the run of a job that no process knows ends and says why', async () => {
    await using without = await atWork(other, undefined, config, 'foreign')
    await trigger(without, known)
    expect(await ended()).toMatchObject({
      state: 'failed',
      failure: { code: 'job_unknown', message: expect.stringContaining('search:all_standards') },
    })
  })
})

describe('two daemons of one database of which one has a kind of request that the other has not yet', () => {
  const correlationId = '0b6c2f4e-0000-4000-8000-000000000001'
  const pushing: Job = jobOf(
    { name: 'push', run: async (deps, run) => ((await planWave(deps, run)) ? 'waiting' : 'done') },
    ending,
  )
  const newer = { ...contract, kinds: [described({})] }
  const things = () => service({ '/things': [json({ correlationId })] })

  /** A request of that kind, written at an attempt before or not yet, in a run that works. */
  async function planned(url: string, written: boolean): Promise<number> {
    await using deps = { ...ferry.deps(url), config, looks: (await engineOf()).looks }
    await ferry.ledger.landChecked('properties', [{ partner_id: 'H-1', content: { name: 'A' } }])
    await trigger(deps, pushing)
    await ferry.wave(deps)
    const { submission_id: id } = await ferry.ledger.db
      .updateTable('submission')
      .set({ kind: 'things', ...(written && { payload_bytes: 2, repeats: 1 }) })
      .returning('submission_id')
      .executeTakeFirstOrThrow()
    return id
  }

  it.each([
    ['that is written for the first time', false],
    ['that was written before', true],
  ])(
    'the one that does not know the kind leaves a request %s to the other, and none of it counts as sent',
    async (_, written) => {
      await using server = await things()
      const id = await planned(server.url, written)
      await using _without = await atWork(pushing, server.url, config, 'foreign')
      await vi.waitFor(async () => {
        const { rows } = await sql`
        select from nightferry_queue.job where name = 'look-at-submission' and state = 'retry'`.execute(ferry.ledger.db)
        expect(rows).toHaveLength(1)
      }, patience)
      expect(await newestRun()).toMatchObject({ state: 'running' })
      expect(await ferry.submission(id)).toMatchObject({ state: 'planned', attempts: 0 })
    },
  )

  it('the one that does not know the kind counts no failed call of a request whose answer was lost', async () => {
    const listed = { correlationId, status: 'InProgress', createdAt: new Date().toISOString() }
    await using server = await service({ '/api/v2/bulk/tasks': [json([listed])] })
    const id = await planned(server.url, true)
    await using without = { ...ferry.deps(server.url), config, now: () => new Date() }
    await sql`
      update submission set state = 'uncertain', attempts = 1, attempted_at = now(), uncertain_since = now()
      where submission_id = ${id}`.execute(without.db)
    await expect(lookAtSubmission(without, id)).rejects.toMatchObject({ code: 'kind_unknown' })
    expect(await ferry.submission(id)).toMatchObject({ state: 'uncertain', failures: 0, error_code: null })
  })

  it('the one that knows the kind sends and settles what the other has left, and the run ends well', async () => {
    await using server = await service({
      '/things': [json({ correlationId })],
      [`/api/v2/bulk/tasks/${correlationId}`]: [json({ correlationId, status: 'Success' })],
    })
    const id = await planned(server.url, false)
    await using _without = await atWork(pushing, server.url, config, 'foreign')
    await lookIsLeft('look-at-submission')
    await engines.pop()?.stop()
    const engine = await engineOf()
    await using knowing = {
      ...ferry.deps(server.url),
      config,
      looks: engine.looks,
      contract: newer,
      now: () => new Date(),
    }
    await engine.work(knowing, [pushing], { yields: () => 'foreign' })
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
    expect(await ferry.submission(id)).toMatchObject({ state: 'settled' })
    expect(server.count('/things')).toBe(1)
  })

  it('the run of a kind that no process knows ends and says why', async () => {
    await using server = await things()
    await planned(server.url, false)
    await using _without = await atWork(pushing, server.url, config, 'foreign')
    expect(await ended()).toMatchObject({ state: 'failed', failure: { code: 'kind_unknown' } })
  })
})
