import { sql } from 'kysely'
import { describe, expect, it, vi } from 'vitest'
import type { RunTrigger } from '../../src/db/tables/run-tables.ts'
import type { Job } from '../../src/jobs/job.ts'
import { patience } from '../helpers/patience.ts'
import {
  atWork,
  config,
  ended,
  ending,
  engines,
  ferry,
  jobOf,
  newestRun,
  step,
  trigger,
  withEngines,
} from './working-engine.ts'

withEngines()

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
    await using old = await atWork(job, other, config, true)
    await trigger(old, job, by)
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(await newestRun()).toMatchObject({ state: 'running', step: 'first' })
    await using _right = await atWork(job, inUse, config, true)
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('the run ends and says why when no other has taken it for as long as faults are tolerated', async () => {
    await sentBefore()
    await using old = await atWork(job, other, config, true)
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
    await using without = await atWork(theirs, undefined, config, true)
    await trigger(without, ours)
    await vi.waitFor(async () => {
      const { rows } = await sql`
        select from nightferry_queue.job where name = 'look-at-run' and state = 'retry'`.execute(ferry.ledger.db)
      expect(rows).toHaveLength(1)
    }, patience)
    expect(await newestRun()).toMatchObject({ state: 'running' })
    await engines.pop()?.stop()
    await using _right = await atWork(ours, undefined, config, true)
    expect(await ended()).toMatchObject({ state: 'finished', verdict: 'succeeded' })
  })

  it('the run of a job that no process knows ends and says why', async () => {
    await using without = await atWork(other, undefined, config, true)
    await trigger(without, known)
    expect(await ended()).toMatchObject({
      state: 'failed',
      failure: { code: 'job_unknown', message: expect.stringContaining('search:all_standards') },
    })
  })
})
