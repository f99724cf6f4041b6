import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { requireService } from '../config/require-settings.ts'
import type { Config } from '../config/schema.ts'
import { secretValues } from '../config/show-config.ts'
import { openDatabaseClock } from '../db/database.ts'
import { watchSchema } from '../db/schema-standing.ts'
import { createExchangeClient } from '../exchange/client.ts'
import { boundResident, makeRoomForRows } from '../heap.ts'
import { type Engine, startEngine } from '../jobs/engine.ts'
import { jobsOf } from '../jobs/known-jobs.ts'
import { startClockWatch } from '../jobs/watch-clock.ts'
import { loadDialect } from '../partner/partner-snapshot.ts'
import type { Deps } from '../pipeline/deps.ts'
import { createServiceClock } from '../pipeline/gate/service-clock.ts'
import { createSharedGate, keyFingerprint, type SharedGate } from '../pipeline/gate/shared-gate.ts'
import { listPages } from '../pipeline/pull/search/search-pages.ts'
import { type Cli, printLine } from './cli.ts'
import { createLogger, createTroubleLog, type TroubleLog } from './log.ts'
import { checkConnections, type OpenDatabase, openDatabase } from './open-database.ts'
import { readContract } from './read-config.ts'
import { openTelemetry, type Telemetry } from './telemetry.ts'
import { allowForWork } from './whole-process.ts'

export type Ferry = {
  deps: Deps
  database: OpenDatabase
  gate: SharedGate
  logger: Logger
  /** What is scrubbed from the log; may be added to. */
  secrets: string[]
  /** Aborts, with the error as its reason, when this process cannot go on, or must not. */
  lost: AbortSignal
  /** What this process has ended. */
  ends: RunEnds
  close(): Promise<void>
}

/** Who follows which run here, and wakes them once a run of this process has ended: nobody sits out an interval. */
export class RunEnds {
  readonly #waiting = new Set<() => void>()
  readonly #followed = new Set<number>()

  /** Somebody waits here for the end of this run, and for no other: what cannot be done of it ends it at once. */
  follow(runId: number): void {
    this.#followed.add(runId)
  }

  isFollowed(runId: number): boolean {
    return this.#followed.has(runId)
  }

  tell(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Waits so many milliseconds, or until a run has ended. @throws the reason of `signal` once it is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController()
    const wake = () => woken.abort()
    this.#waiting.add(wake)
    signal.addEventListener('abort', wake)
    try {
      if (!signal.aborted) await delay(ms, undefined, { signal: woken.signal }).catch(() => {})
      signal.throwIfAborted()
    } finally {
      this.#waiting.delete(wake)
      signal.removeEventListener('abort', wake)
    }
  }
}

/**
 * `person`: somebody waits, so a key that was refused is asked about again at once. `follower`: the same, and they read
 * how a run gets on, with its warnings. `daemon`: when it is time. `rehearsal`: as a person, but nobody hears of it.
 */
type OpenedBy = 'person' | 'follower' | 'daemon' | 'rehearsal'

/** How often a process that carries rows looks whether a newer version has migrated the database. Milliseconds. */
const schemaWatchMs = 60_000

/**
 * What a process that carries rows may have in memory before it gives back what V8 keeps and does not use: below the
 * 256 MB that it may have at most by as much as comes within moments. Bytes.
 */
const residentAtMost = 212 * 1024 * 1024

/**
 * Everything that a process needs to carry rows: configuration checked, databases open and migrated, engine at work.
 */
export async function openFerry(cli: Cli, config: Config, by: OpenedBy = 'person'): Promise<Ferry> {
  const { work, ...ferry } = await openReadyFerry(cli, config, by)
  try {
    await work()
    return ferry
  } catch (error) {
    await ferry.close()
    throw error
  }
}

/**
 * The same, but looks are worked off only once `work` is called: the first one may keep this process from all else, as
 * a statement on a SQLite file does, and until then there may be something to say.
 */
export async function openReadyFerry(
  cli: Cli,
  config: Config,
  by: OpenedBy,
): Promise<Ferry & { work: () => Promise<void> }> {
  allowForWork(() => config.engine.shutdownMs)
  const { engine, ...ferry } = await openIdleFerry(cli, config, by, 'migrate')
  const schema = watchSchema(ferry.deps.db, schemaWatchMs)
  const clock = startClockWatch(ferry.deps)
  const bounded = boundResident(residentAtMost)
  let telemetry: Telemetry | null = null
  const close = async () => {
    schema.stop()
    bounded[Symbol.dispose]()
    await clock.stop()
    // A run may end while the engine stops.
    await ferry.close()
    await telemetry?.close()
  }
  try {
    const { partnerUrl } = ferry.deps.required
    if (partnerUrl !== null) await loadDialect({ url: partnerUrl })
    if (by !== 'rehearsal') telemetry = await openTelemetry(cli, ferry.logger, ferry.secrets)
    const runEnded = async (runId: number) => {
      ferry.ends.tell()
      await telemetry?.runEnded(ferry.deps.db, runId)
    }
    const warning = await checkConnections(ferry.deps.db, config)
    if (warning !== null && by === 'daemon') ferry.logger.warn({ warning }, 'connections_short')
    if (warning !== null && by !== 'daemon') printLine(cli.stderr, warning)
    const work = () =>
      engine.work(ferry.deps, jobsOf(config), {
        beforeLook: makeRoomForRows,
        beforeRun: schema.check,
        yields: (runId) => (by === 'daemon' ? 'foreign' : ferry.ends.isFollowed(runId) ? 'nothing' : 'all'),
        runEnded,
      })
    return { ...ferry, work, lost: AbortSignal.any([ferry.lost, schema.lost]), close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The same, but the process works nothing off: it only asks others, or a later one, to look. */
export async function openIdleFerry(
  cli: Cli,
  config: Config,
  by: OpenedBy = 'person',
  access: 'migrate' | 'write' = 'write',
): Promise<Ferry & { engine: Engine }> {
  const { deps, database, gate, logger, secrets, trouble, lost, ends, close } = await openStages(
    cli,
    config,
    by,
    access,
  )
  try {
    const { apiKey, baseUrl } = deps.required
    const key = access === 'migrate' ? keyFingerprint(apiKey, baseUrl) : null
    const engine = await startEngine(database.url, config, (error) => trouble.tell('queue_error', error), key)
    return {
      deps: { ...deps, looks: engine.looks },
      database,
      gate,
      logger,
      secrets,
      lost,
      ends,
      engine,
      close: async () => {
        await engine.stop()
        await close()
      },
    }
  } catch (error) {
    // An embedded server that nobody releases would outlive this process.
    await close()
    throw error
  }
}

/** What the stages of a run need, and no queue: for who only wants to know what they would do. */
export async function openStages(
  cli: Cli,
  config: Config,
  by: OpenedBy = 'person',
  access: 'migrate' | 'write' = 'write',
): Promise<Omit<Ferry, 'deps'> & { deps: Omit<Deps, 'looks'>; trouble: TroubleLog }> {
  const contract = readContract(cli, config)
  const required = requireService(config)
  const secrets = secretValues(config)
  const logger = createLogger(cli.stderr, config.log.level, secrets, by === 'follower')
  const trouble = createTroubleLog(logger)
  // A log of JSON lines has none of another form in between.
  if (logger.isLevelEnabled('warn')) {
    cli.onWarning?.(({ name: warning, code, message: error }) => {
      logger.warn({ warning, ...(code !== undefined && { code }), error }, 'process_warning')
    })
  }
  const database = await openDatabase(cli, config, {
    access,
    onIdleError: (error) => trouble.tell('database_connection_lost', error),
    onRestart: () => logger.warn({ folder: config.database.folder }, 'embedded_postgres_restarted'),
    // A person who called a verb is told at once.
    ...(by === 'daemon' && { onAway: (error: Error) => trouble.tell('database_awaited', error) }),
  })
  try {
    const gate = createSharedGate({
      db: database.db,
      fingerprint: keyFingerprint(required.apiKey, required.baseUrl),
      requestsPerSecond: () => config.exchange.requestsPerSecond,
      probeIntervalMs: config.exchange.probeIntervalMs,
      probeAtOnce: by !== 'daemon',
      logger,
    })
    const clock = await openDatabaseClock(database.db)
    const serviceClock = createServiceClock(database.db, keyFingerprint(required.apiKey, required.baseUrl), logger)
    const exchange = createExchangeClient({
      nowMs: () => clock.now().getTime(),
      onSkew: (skew) => serviceClock.note(skew),
      baseUrl: required.baseUrl,
      apiKey: required.apiKey,
      contract,
      concurrency: config.exchange.concurrency,
      requestsPerSecond: config.exchange.requestsPerSecond,
      gate,
      connectTimeoutMs: config.exchange.connectTimeoutMs,
      headersTimeoutMs: config.exchange.headersTimeoutMs,
      bodyTimeoutMs: config.exchange.bodyTimeoutMs,
      maxAnswerBytes: config.exchange.maxAnswerBytes,
      proxy: () => config.exchange.proxy,
      logger,
    })
    const partnerUrl = required.partnerUrl === null ? null : await database.resolveUrl(required.partnerUrl)
    // A person who has fixed the key should not have to wait until a daemon finds out. If it is refused still, so is
    // the first call that needs it, which says so.
    if (by !== 'daemon' && (await gate.refusal()) !== null) await exchange.getUnitTypes().catch(() => {})
    return {
      deps: {
        config,
        required: { ...required, partnerUrl },
        contract,
        pool: database.pool,
        db: database.db,
        exchange,
        endSearch: listPages,
        logger,
        tellTrouble: trouble.tell,
        now: clock.now,
        readClock: clock.read,
      },
      database,
      gate,
      logger,
      secrets,
      trouble,
      lost: database.lost,
      ends: new RunEnds(),
      close: async () => {
        await exchange.close()
        await serviceClock.close()
        await database.close()
        trouble.close()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * Anyone who follows a run reads how it gets on, its warnings, and why it failed; all of it again as log lines would
 * bury that.
 */
export function quietConfig(config: Config): Config {
  return { ...config, log: { level: config.log.level === 'info' ? 'silent' : config.log.level } }
}
