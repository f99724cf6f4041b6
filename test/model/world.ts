import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { pino } from 'pino'
import { type Config, type StreamName, settings } from '../../src/config/schema.ts'
import { createDatabase, createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { createExchangeClient } from '../../src/exchange/client.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import type { Deps } from '../../src/pipeline/deps.ts'
import { listPages } from '../../src/pipeline/pull/search/search-pages.ts'
import { catalogue } from '../../src/sandbox/catalogue.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { testDatabase } from '../helpers/postgres.ts'
import { type ManualClock, manualClock } from '../sandbox/manual-clock.ts'
import { copying } from './copying.ts'
import type { Life } from './life.ts'
import { createLookTable, tableLooks } from './looks.ts'
import { type Capture, knownHotels, openPartner, type Partner, seed, streamSettings } from './partner.ts'
import type { Which } from './steps.ts'

const contract = loadContract(fileURLToPath(new URL('../../config/contract.yaml', import.meta.url)))
export const apiKey = 'demo-key'
/** Another integration of the same profile. */
export const siblingKey = 'sibling-key'

/** Long enough that every status can be seen, and that requests of one wave end in any order. Milliseconds. */
const durations = { pendingMs: 500, scheduledMs: 500, jitter: 0.5 }
const processing = { baseMs: 3_000, perItemUs: 200_000 }

/** What is read from the partner, and whether calculators are brought back. */
export type Night = { streams: readonly StreamName[]; pull: boolean }

export type ModelWorld = {
  partner: Partner
  clock: ManualClock
  /** Nightferry's database, seen by nobody but the test; and the service's. */
  own: pg.Pool
  service: pg.Pool
  sandboxUrl: string
  /** What the stages work with, in a process of this life. */
  deps(life: Life, night: Night): Deps
  /** Lets time pass, and the service do what falls due in it. */
  pass(ms: number): Promise<void>
  chaos(profiles: Readonly<Record<string, number>>): Promise<void>
  /** Everything as before the first run. */
  reset(): Promise<void>
  /** Ends the connections of a process that died, and begins another. */
  bury(): Promise<void>
  /** Sets our clock so many milliseconds after the service's. */
  setClock(aheadMs: number): void
  /**
   * Keeps a copy of each database in the place of the last. To be called while the service makes no trouble that keeps
   * its tasks.
   */
  dump(): Promise<void>
  restore(which: Which): Promise<void>
  close(): Promise<void>
}

const processName = 'nightferry model'

/** One sandbox, one partner, one database of ours, used by one run of the model after the other. */
export async function openWorld(capture: Capture): Promise<ModelWorld> {
  await using opened = new AsyncDisposableStack()
  const partner = await openPartner()
  opened.defer(() => partner.close())
  const poolOf = (url: string, searchPath: string, applicationName: string, max: number) => {
    const pool = createPool(url, { max, applicationName, searchPath, onIdleError: () => {} })
    opened.defer(() => pool.end())
    return pool
  }
  const ownDatabase = opened.use(await testDatabase())
  const serviceDatabase = opened.use(await testDatabase({ template: 'empty' }))
  const own = poolOf(ownDatabase.url, schemaName, 'model witness', 3)
  const processPool = () =>
    createPool(ownDatabase.url, { max: 8, applicationName: processName, searchPath: schemaName, onIdleError: () => {} })
  let ours = processPool()
  opened.defer(() => ours.end())
  /** Ends the connections of a process that died, as its host would have: its locks go with them. */
  const bury = async () => {
    const dead = ours
    ours = processPool()
    await endProcess(own)
    await partner.bury()
    await dead.end()
  }
  const service = poolOf(serviceDatabase.url, 'sandbox', 'model witness', 3)
  const clock = manualClock(Date.now())
  const sandbox = await startSandbox({
    databaseUrl: serviceDatabase.url,
    contract,
    port: 0,
    seed,
    companies: knownHotels,
    clock,
    retentionDays: 10_000,
    durations: {
      ...durations,
      processing: Object.fromEntries(Object.keys(contract.taskNames).map((kind) => [kind, processing])),
    },
  })
  opened.defer(() => sandbox.close())
  await createLookTable(own)
  await createWitnesses(own, service)

  let aheadMs = 0
  const now = () => new Date(clock.now() + aheadMs)
  const client = createExchangeClient({
    baseUrl: sandbox.url,
    apiKey,
    contract,
    concurrency: 4,
    requestsPerSecond: 100_000,
    connectTimeoutMs: 5_000,
    headersTimeoutMs: 5_000,
    bodyTimeoutMs: 5_000,
    maxAnswerBytes: 4_000_000,
    // Answers bear the date of the real clock: from it the client learns how far the service's is from ours.
    nowMs: () => Date.now() + aheadMs,
    wait: async () => {},
  })
  opened.defer(() => client.close())
  const required = {
    baseUrl: sandbox.url,
    apiKey,
    customIdentifierId: catalogue.customIdentifierId,
    groupId: catalogue.groupId,
    partnerUrl: partner.url,
  }
  const chaos = async (profiles: Readonly<Record<string, number>>) => {
    const answer = await fetch(`${sandbox.url}/sandbox/chaos`, {
      method: 'PUT',
      headers: { authorization: apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ profiles }),
    })
    if (answer.status !== 200) throw new Error(`the sandbox did not switch: ${await answer.text()}`)
  }
  await settled(service, clock)
  const resting = clock.waiting()
  const rest = () => settled(service, clock, resting)
  const pass = async (ms: number) => {
    // A task takes up to three moves: it must not find all of the time gone at its first.
    for (let left = ms; left > 0; ) {
      const idle = left > 60_000 && (await unfinishedTasks(service)) === 0
      const step = idle ? left : Math.min(left, left > 4_000 ? 4_000 : 500)
      clock.advance(step)
      await rest()
      left -= step
    }
  }
  // The destination in use is made by a migration, not by a run.
  const made = ['kysely_migration', 'kysely_migration_lock', 'destination']
  const emptyOwn = await emptying(own, [schemaName, 'model', 'witness'], made)
  const unchanging = ['world', 'company', 'group_company', 'application', 'application_answer']
  const emptyService = await emptying(service, ['sandbox', 'witness'], unchanging)
  const ownCopies = await copying(own, [schemaName, 'model'], ['kysely_migration', 'kysely_migration_lock'])
  const serviceCopies = await copying(service, ['sandbox'], ['world', 'company', 'application', 'application_answer'])
  /** A copy is made, and put back, while nothing moves: a restore takes longer than any task. */
  const rested = async () => {
    for (let round = 0; (await unfinishedTasks(service)) > 0; round += 1) {
      if (round > 200) throw new Error('the service does not finish its tasks')
      await pass(12_000)
    }
  }
  const everything = opened.move()
  return {
    partner,
    clock,
    own,
    service,
    sandboxUrl: sandbox.url,
    deps: (life, night) => {
      const pool = life.pool(ours)
      return {
        config: configOf(capture, night),
        required,
        contract,
        pool,
        db: createDatabase(pool),
        exchange: life.exchange(client),
        // A delay is a delay, whatever the clock is set to.
        looks: tableLooks(() => new Date(clock.now())),
        endSearch: listPages,
        logger: pino({ level: 'silent' }),
        tellTrouble: () => {},
        now,
      }
    },
    pass,
    chaos,
    reset: async () => {
      aheadMs = 0
      await chaos({})
      await rested()
      await own.query(emptyOwn)
      await service.query(emptyService)
      await partner.clear()
    },
    bury,
    setClock: (ms) => {
      aheadMs = ms
    },
    dump: async () => {
      await rested()
      await partner.dump()
      await own.query(ownCopies.dump)
      await service.query(serviceCopies.dump)
    },
    restore: async (which) => {
      await rested()
      if (which === 'partner') return await partner.restore()
      if (which === 'service') return void (await service.query(serviceCopies.restore))
      await bury()
      await own.query(ownCopies.restore)
    },
    close: () => everything.disposeAsync(),
  }
}

/** Small limits, so that a few rows make several requests. */
function configOf(capture: Capture, { streams }: Night): Config {
  return settings.parse({
    exchange: { pollIntervalMs: 5_000, giveUpAfterMs: 120_000, headersTimeoutMs: 5_000, bodyTimeoutMs: 5_000 },
    // All of a story is younger than the usual overlap: rows would be read again whatever the watermark says.
    partner: { overlapMs: 0 },
    push: {
      maxCompaniesPerMapping: 3,
      maxAnswersPerUpsert: 4,
      maxCalculatorsPerUpsert: 4,
      maxValuesPerUpsert: 2,
      maxHoldersPerUpsert: 2,
      uncertainGraceMs: 10_000,
      firstRows: 2,
      inFlightPerKind: 2,
      // What trouble has rejected goes out again once it has ended.
      retries: [
        { stream: 'properties', code: 'not_matched', afterMs: 0, times: null },
        { code: 'task_error_alone', afterMs: 0, times: null },
        { code: 'request_invalid', afterMs: 0, times: null },
        { code: 'request_unprocessable', afterMs: 0, times: null },
      ],
    },
    streams: streamSettings(capture, streams),
  })
}

/** Two records that no code under test writes: what each row of the ledger ever said, and what each request said. */
async function createWitnesses(own: pg.Pool, service: pg.Pool): Promise<void> {
  await own.query(`
    create schema witness;
    create table witness.content (row_id bigint, hash bytea, stream text, partner_id text, content jsonb, primary key (row_id, hash));
    create function witness.note() returns trigger language plpgsql as $$
    begin
      insert into witness.content values (new.row_id, new.desired_hash, new.stream, new.partner_id, new.content) on conflict do nothing;
      return null;
    end $$;
    create trigger witness after insert or update of desired_hash on source_row for each row execute function witness.note()`)
  await service.query(`
    create schema witness;
    create table witness.body (task_id uuid primary key, body bytea);
    create function witness.note() returns trigger language plpgsql as $$
    begin
      insert into witness.body values (new.task_id, new.body);
      return null;
    end $$;
    create trigger witness after insert on sandbox.task_body for each row execute function witness.note()`)
}

/** Statements that empty all other tables. Deleting a few rows costs less than truncating tables with their indexes. */
async function emptying(pool: pg.Pool, schemas: string[], without: string[]): Promise<string> {
  const { rows } = await pool.query<{ statement: string }>(
    `select format('delete from %I.%I', schemaname, tablename) as statement
     from pg_tables where schemaname = any($1) and tablename <> all($2)
     union all
     select format('alter sequence %I.%I restart', schemaname, sequencename)
     from pg_sequences where schemaname = any($1)`,
    [schemas, without],
  )
  const all = rows.map(({ statement }) => statement).join('; ')
  return `begin; set local session_replication_role = replica; ${all}; commit`
}

async function unfinishedTasks(service: pg.Pool): Promise<number> {
  const { rows } = await service.query<{ count: number }>(
    'select count(*) as count from sandbox.task where finished_at is null',
  )
  return rows[0]?.count ?? 0
}

/**
 * Waits until the service has nothing to do before its time moves on: its loops and the workers of the tasks in
 * progress all wait for the clock. Tasks that trouble keeps have no worker, so after some rounds it is left at that.
 */
async function settled(service: pg.Pool, clock: ManualClock, resting?: number): Promise<void> {
  let before = -1
  for (let same = 0, round = 0; same < 3 && round < 60; round += 1) {
    const { rows } = await service.query<{ working: number; kept: number; last: number }>(
      `select (select count(*) from sandbox.task where status = 'inProgress') as working,
              (select count(distinct correlation_id) from sandbox.request_log join sandbox.task on task.id = correlation_id
               where 'tasks-stuck' = any(chaos) and task.status = 'inProgress') as kept,
              (select coalesce(max(id), 0) from sandbox.request_log) as last`,
    )
    const { working = 0, kept = 0, last = 0 } = rows[0] ?? {}
    const waiting = clock.waiting()
    if (resting !== undefined && (waiting === resting + working || waiting === resting + working - kept)) return
    const now = last * 1_000 + waiting
    same = now === before ? same + 1 : 0
    before = now
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function endProcess(own: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await own.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = $1 and datname = current_database()`,
      [processName],
    )
    if (rows.length === 0) return
  }
}
