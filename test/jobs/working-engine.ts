import { sql } from 'kysely'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { settings } from '../../src/config/schema.ts'
import { finishRun } from '../../src/db/runs/run-life.ts'
import type { Run, RunTrigger } from '../../src/db/tables/run-tables.ts'
import { type Engine, startEngine } from '../../src/jobs/engine.ts'
import type { Job, Step, StepResult } from '../../src/jobs/job.ts'
import { triggerRun } from '../../src/jobs/trigger-run.ts'
import type { Deps, Yields } from '../../src/pipeline/deps.ts'
import { patience } from '../helpers/patience.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'

export const config = settings.parse({
  exchange: { pollIntervalMs: 100, giveUpAfterMs: 1_000 },
  engine: { jobPollMs: 500 },
  streams: { properties: { query: 'select', cursor: 'x' } },
})

export const step = (name: string, run: () => Promise<StepResult>): Step => ({ name, run })
export const ending: Step = {
  name: 'end',
  run: async (deps, { run_id }) => {
    await deps.db
      .transaction()
      .execute((trx) =>
        finishRun(trx, run_id, { verdict: 'succeeded', report: {}, finishedAt: deps.now(), carried: null }),
      )
    return 'done'
  },
}
export const jobOf = (...steps: [Step, ...Step[]]): Job => ({ name: 'nightly-sync', steps })
export const trigger = (deps: Deps, job: Job, by: RunTrigger = 'schedule') => triggerRun(deps, job, by, new Date())

export const engines: Engine[] = []
/** Of the test that runs. */
export let ferry: Ferry

/** Each test of the file that calls it has a ledger of its own, and its engines are stopped when it has ended. */
export function withEngines(): void {
  beforeEach(async () => {
    ferry = await openFerry()
  })
  afterEach(async () => {
    for (const engine of engines.splice(0)) await engine.stop()
    await ferry.close()
  })
}

/** A process that asks for looks and works off none. */
export async function engineOf(settled = config): Promise<Engine> {
  const engine = await startEngine(ferry.ledger.url, settled, () => {})
  engines.push(engine)
  return engine
}

/** A process that works off the looks of a job. */
export async function atWork(
  job: Job,
  url = 'http://127.0.0.1:9',
  settled = config,
  yields: Yields = 'nothing',
): Promise<Deps & AsyncDisposable> {
  const engine = await engineOf(settled)
  const deps = { ...ferry.deps(url), config: settled, looks: engine.looks, now: () => new Date() }
  await engine.work(deps, [job], { yields: () => yields })
  return deps
}

export const newestRun = () =>
  ferry.ledger.db.selectFrom('run').selectAll().orderBy('run_id', 'desc').limit(1).executeTakeFirstOrThrow()

/** The newest run, once it has ended. Looks that were put off are due at once: nobody waits for a back-off here. */
export const ended = async (): Promise<Run> =>
  await vi.waitFor(async () => {
    await sql`update nightferry_queue.job set start_after = now() where state = 'retry'`.execute(ferry.ledger.db)
    const run = await newestRun()
    expect(run.state).not.toBe('running')
    return run
  }, patience)
