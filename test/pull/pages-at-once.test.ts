import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { poolSize } from '../../src/cli/pool-size.ts'
import { settings } from '../../src/config/schema.ts'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate.ts'
import { finishRun } from '../../src/db/runs/end-run.ts'
import { startEngine } from '../../src/jobs/engine.ts'
import type { Job } from '../../src/jobs/job.ts'
import { triggerRun } from '../../src/jobs/trigger-run.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { planSearch } from '../../src/pipeline/pull/plan-search.ts'
import { sendJson } from '../exchange/fault-server.ts'
import { company, samplePage } from '../pipeline/pull/sample-page.ts'
import { type Ferry, openFerry } from '../pipeline/push/ferry.ts'
import { type Answer, service } from '../pipeline/push/service.ts'

let ferry: Ferry
beforeAll(async () => {
  ferry = await openFerry()
})
afterAll(() => ferry.close())

const patience = { timeout: 50_000, interval: 50 }

/** Loads what is listed, and ends. */
const loading: Job = {
  name: 'nightly-sync',
  steps: [
    { name: 'pull', run: async (deps, run) => ((await planSearch(deps, run)) ? 'waiting' : 'done') },
    {
      name: 'end',
      run: async (deps, { run_id }) => {
        await deps.db.transaction().execute((trx) => finishRun(trx, run_id, 'succeeded', {}, deps.now()))
        return 'done'
      },
    },
  ],
}

/** A page file server that answers nobody until so many have asked at once. */
async function barrier(pages: number, together: number) {
  const waiting: (() => void)[] = []
  let most = 0
  const answer =
    (page: number): Answer =>
    (response) => {
      const send = () => sendJson(response, samplePage([company(`Hotel ${page}`), company(`Inn ${page}`)]))
      waiting.push(send)
      most = Math.max(most, waiting.length)
      if (most >= together) for (const go of waiting.splice(0)) go()
    }
  const script = Object.fromEntries(Array.from({ length: pages }, (_, page) => [`/${page}`, [answer(page)]]))
  return { ...(await service(script)), most: () => most }
}

it.each([
  [16, 20],
  [1, 6],
])(
  'loads %i pages at once, %i in all, within the connections of its pool and without a pause between them',
  async (pagesAtOnce, pages) => {
    await ferry.clear()
    const config = settings.parse({
      // So rare a poll that whoever depends on it comes too late.
      engine: { jobPollMs: 600_000 },
      pull: { pagesAtOnce },
      streams: { properties: { query: 'select', cursor: 'x' } },
    })
    const pool = createPool(ferry.ledger.url, {
      max: poolSize(config),
      applicationName: 'pages at once',
      searchPath: schemaName,
      onIdleError: () => {},
      connectTimeoutMs: 5_000,
    })
    await using server = await barrier(pages, pagesAtOnce)
    await using plain = ferry.deps(server.url)
    const engine = await startEngine(ferry.ledger.url, config, () => {})
    const deps: Deps = { ...plain, config, pool, db: createDatabase(pool), looks: engine.looks, now: () => new Date() }
    try {
      const runId = await ferry.ledger.startRun()
      await deps.db.updateTable('run').set({ job: loading.name, step: 'pull' }).where('run_id', '=', runId).execute()
      const { submission_id } = await deps.db
        .insertInto('submission')
        .values({ run_id: runId, kind: 'calculators_search', state: 'settled', row_count: 0 })
        .returning('submission_id')
        .executeTakeFirstOrThrow()
      await deps.db
        .insertInto('search_page')
        .values(
          Array.from({ length: pages }, (_, ordinal) => ({
            submission_id,
            ordinal,
            url: `${server.url}/${ordinal}`,
            state: 'listed' as const,
          })),
        )
        .execute()
      await engine.work(deps, [loading])
      await triggerRun(deps, loading, 'cli', new Date())
      await vi.waitFor(async () => {
        const { rows } = await ferry.ledger.pool.query('select state from run order by run_id desc limit 1')
        expect(rows).toEqual([{ state: 'finished' }])
      }, patience)
      expect(server.most()).toBe(pagesAtOnce)
      expect(server.seen).toHaveLength(pages)
      const { rows } = await ferry.ledger.pool.query(
        'select state, count(*)::int as pages, sum(companies)::int as companies from search_page group by state',
      )
      expect(rows).toEqual([{ state: 'loaded', pages, companies: 2 * pages }])
      expect(pool.totalCount).toBeLessThanOrEqual(poolSize(config))
      expect(pool.waitingCount).toBe(0)
    } finally {
      await engine.stop()
      await pool.end()
    }
  },
)
