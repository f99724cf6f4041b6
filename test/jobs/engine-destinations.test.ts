import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { RunTrigger } from '../../src/db/tables/run-tables.ts'
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
