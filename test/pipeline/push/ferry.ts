import { sql } from 'kysely'
import type { Config } from '../../../src/config/schema.ts'
import { settings } from '../../../src/config/schema.ts'
import type { Submission } from '../../../src/db/tables/submission-tables.ts'
import { type Engine, startEngine } from '../../../src/jobs/engine.ts'
import type { Deps } from '../../../src/pipeline/deps.ts'
import { listPages } from '../../../src/pipeline/pull/search/search-pages.ts'
import { planWave } from '../../../src/pipeline/push/waves/plan-wave.ts'
import { type Landing, type Ledger, openLedger } from '../../db/ledger/ledger.ts'
import { apiKey, contract, type TestClient, testClient } from '../../exchange/test-client.ts'
import { inspectedLogger, troubleTo } from '../../helpers/leaks.ts'
import { ids } from './rows.ts'

const config = settings.parse({
  exchange: { pollIntervalMs: 15_000, giveUpAfterMs: 900_000 },
  push: { uncertainGraceMs: 30_000 },
  streams: {
    properties: { query: 'select', cursor: 'x' },
    framework_answers: { query: 'select', cursor: 'x' },
  },
})

/** The time, which only moves when a test says so. */
export type Clock = { at: Date; pass(ms: number): void }

export type Ferry = {
  ledger: Ledger
  clock: Clock
  engine: Engine
  /** What the stages work with, talking to the service at `url`. */
  deps(url: string, push?: Partial<Config['push']>): Deps & AsyncDisposable & { client: TestClient }
  /** Lands rows as preflight leaves them and plans them in one submission of a new run. */
  planned(deps: Deps, stream: string, rows: readonly Landing[]): Promise<number>
  /** Plans another wave of the run that is under way. */
  wave(deps: Deps): Promise<boolean>
  submission(id: number): Promise<Submission>
  /** Looks that were asked for since the last call, as `queue id`, with the milliseconds they are put off. */
  asked(): Promise<{ look: string; inMs: number }[]>
  clear(): Promise<void>
  close(): Promise<void>
}

/** Ledger and engine on a real database. Nobody works the queue off: a test looks when it wants to. */
export async function openFerry(): Promise<Ferry> {
  const ledger = await openLedger()
  const engine = await startEngine(ledger.url, config, () => {})
  const clock: Clock = {
    at: new Date('2026-11-21T02:00:00Z'),
    pass(ms) {
      clock.at = new Date(clock.at.getTime() + ms)
    },
  }
  const currentRun = () =>
    ledger.db.selectFrom('run').selectAll().where('state', '=', 'running').executeTakeFirstOrThrow()
  const wave: Ferry['wave'] = async (deps) => {
    const run = await currentRun()
    return await planWave(deps, run)
  }
  return {
    ledger,
    clock,
    engine,
    deps: (url, push = {}) => {
      const client = testClient(url)
      const required = {
        baseUrl: url,
        apiKey,
        customIdentifierId: ids.identifier,
        groupId: ids.group,
        partnerUrl: ledger.url,
      }
      return {
        config: { ...config, push: { ...config.push, ...push } },
        required,
        contract,
        pool: ledger.pool,
        db: ledger.db,
        // Its clock is that of the test, too.
        exchange: { ...client, serviceTime: () => clock.at },
        client,
        looks: engine.looks,
        endSearch: listPages,
        logger: inspectedLogger(),
        tellTrouble: troubleTo(inspectedLogger()),
        now: () => clock.at,
        [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
      }
    },
    planned: async (deps, stream, rows) => {
      await ledger.startRun()
      await ledger.landChecked(stream, rows)
      await wave(deps)
      const submissions = await ledger.db
        .selectFrom('submission')
        .select('submission_id')
        .where('state', '=', 'planned')
        .execute()
      const [only, ...more] = submissions
      if (only === undefined || more.length > 0) throw new Error('one planned submission was expected')
      return only.submission_id
    },
    wave,
    submission: (id) =>
      ledger.db.selectFrom('submission').selectAll().where('submission_id', '=', id).executeTakeFirstOrThrow(),
    asked: async () => {
      const { rows } = await sql<{ look: string; inMs: number }>`
        delete from nightferry_queue.job
        returning name || ' ' || (data ->> 'id') as look,
                  (extract(epoch from start_after - created_on) * 1000)::float8 as "inMs"`.execute(ledger.db)
      return rows.toSorted((a, b) => a.look.localeCompare(b.look))
    },
    clear: async () => {
      await ledger.clear()
      await sql`delete from nightferry_queue.job`.execute(ledger.db)
    },
    close: async () => {
      await engine.stop()
      await ledger.close()
    },
  }
}
