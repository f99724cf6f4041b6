import type pg from 'pg'
import { vi } from 'vitest'
import { poolSize } from '../../../src/cli/open-database.ts'
import { settings } from '../../../src/config/schema.ts'
import { createDatabase, createPool } from '../../../src/db/database.ts'
import { schemaName } from '../../../src/db/migrate-to-latest.ts'
import { finishRun } from '../../../src/db/runs/run-life.ts'
import { startEngine } from '../../../src/jobs/engine.ts'
import type { Job } from '../../../src/jobs/job.ts'
import { triggerRun } from '../../../src/jobs/trigger-run.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { configuredDestination } from '../../../src/pipeline/destination/check-destination.ts'
import { addKey, bindDestination, destinationInUse } from '../../../src/pipeline/destination/find-destination.ts'
import { planSearch } from '../../../src/pipeline/pull/search/whole-search.ts'
import type { Ferry } from '../../pipeline/push/ferry.ts'

export type Loading = AsyncDisposable & {
  pool: pg.Pool
  runId: number
  /** Resolves once every page is loaded or failed. */
  done(): Promise<void>
}

/** Loads what is listed, and ends. */
const job: Job = {
  name: 'nightly-sync',
  steps: [
    { name: 'pull', run: async (deps, run) => ((await planSearch(deps, run)) ? 'waiting' : 'done') },
    {
      name: 'end',
      run: async (deps, { run_id }) => {
        await deps.db
          .transaction()
          .execute((trx) =>
            finishRun(trx, run_id, { verdict: 'succeeded', report: {}, finishedAt: deps.now(), carried: null }),
          )
        return 'done'
      },
    },
  ],
}

/** A process at work on a search that has these pages, as the engine works them off. */
export async function startLoading(
  ferry: Ferry,
  urls: readonly string[],
  over: { pagesAtOnce: number; jobPollMs?: number },
): Promise<Loading> {
  await ferry.clear()
  const { pagesAtOnce, jobPollMs = 500 } = over
  const config = settings.parse({
    engine: { jobPollMs },
    pull: { pagesAtOnce },
    streams: { properties: { query: 'select', cursor: 'x' } },
  })
  const pool = createPool(ferry.ledger.url, {
    max: poolSize(config),
    applicationName: 'loading',
    searchPath: schemaName,
    onIdleError: () => {},
    connectTimeoutMs: 5_000,
  })
  const plain = ferry.deps(new URL(urls[0] ?? '').origin)
  const engine = await startEngine(ferry.ledger.url, config, () => {})
  const deps: Deps = { ...plain, config, pool, db: createDatabase(pool), looks: engine.looks, now: () => new Date() }
  // Each service of a test is the same one to the ledger.
  const { fingerprint, ...place } = configuredDestination(plain)
  await deps.db.transaction().execute(async (trx) => {
    const { destination_id } = await destinationInUse(trx)
    await bindDestination(trx, destination_id, place)
    await addKey(trx, destination_id, fingerprint, 'certain', 'a test says so')
  })
  const runId = await ferry.ledger.startRun()
  await deps.db.updateTable('run').set({ job: job.name, step: 'pull' }).where('run_id', '=', runId).execute()
  const { submission_id } = await deps.db
    .insertInto('submission')
    .values({ run_id: runId, kind: 'calculators_search', state: 'settled', row_count: 0 })
    .returning('submission_id')
    .executeTakeFirstOrThrow()
  await deps.db
    .insertInto('search_page')
    .values(urls.map((url, ordinal) => ({ submission_id, ordinal, url, state: 'listed' as const })))
    .execute()
  await engine.work(deps, [job])
  await triggerRun(deps, job, 'cli', new Date())
  return {
    pool,
    runId,
    done: async () => {
      await vi.waitFor(
        async () => {
          // A look that failed is due at once: nobody waits for a back-off here.
          await ferry.ledger.pool.query(
            `update nightferry_queue.job set start_after = now() where state = 'retry' and start_after > now()`,
          )
          const { rows } = await ferry.ledger.pool.query<{ state: string }>(
            'select state from run where run_id = $1 and state <> $2',
            [runId, 'running'],
          )
          if (rows[0] === undefined) throw new Error('the run is under way')
        },
        { timeout: 60_000, interval: 50 },
      )
    },
    [Symbol.asyncDispose]: async () => {
      await engine.stop()
      await pool.end()
      await plain[Symbol.asyncDispose]()
    },
  }
}
