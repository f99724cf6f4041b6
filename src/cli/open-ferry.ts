import type { Logger } from 'pino'
import { requireSettings } from '../config/require-settings.ts'
import type { Config } from '../config/schema.ts'
import { secretValues } from '../config/show-config.ts'
import { createExchangeClient } from '../exchange/client.ts'
import { type Engine, startEngine } from '../jobs/engine.ts'
import { nightlySync } from '../jobs/nightly-sync.ts'
import type { Deps } from '../pipeline/deps.ts'
import type { Cli } from './cli.ts'
import { createLogger } from './log.ts'
import { type OpenDatabase, openDatabase } from './open-database.ts'
import { readContract } from './read-config.ts'

export type Ferry = { deps: Deps; database: OpenDatabase; logger: Logger; close(): Promise<void> }

/** Everything that a process needs to carry rows: configuration checked, databases open, engine at work. */
export async function openFerry(cli: Cli, config: Config): Promise<Ferry> {
  const { engine, ...ferry } = await openIdleFerry(cli, config)
  try {
    await engine.work(ferry.deps, [nightlySync])
    return ferry
  } catch (error) {
    await ferry.close()
    throw error
  }
}

/** The same, but the process works nothing off: it only asks others, or a later one, to look. */
export async function openIdleFerry(cli: Cli, config: Config): Promise<Ferry & { engine: Engine }> {
  const required = requireSettings(config)
  const contract = readContract(cli, config)
  const logger = createLogger(cli.stderr, config.log.level, secretValues(config))
  const database = await openDatabase(cli, config)
  const opened: (() => Promise<void>)[] = [() => database.close()]
  const close = async () => {
    for (const end of opened.reverse()) await end()
  }
  try {
    const exchange = createExchangeClient({
      baseUrl: required.baseUrl,
      apiKey: required.apiKey,
      contract,
      concurrency: config.exchange.concurrency,
      requestsPerSecond: config.exchange.requestsPerSecond,
      connectTimeoutMs: config.exchange.connectTimeoutMs,
      headersTimeoutMs: config.exchange.headersTimeoutMs,
      bodyTimeoutMs: config.exchange.bodyTimeoutMs,
      maxAnswerBytes: config.exchange.maxAnswerBytes,
      logger,
    })
    opened.push(() => exchange.close())
    const engine = await startEngine(database.url, config, (error) =>
      logger.error({ error: error.message }, 'queue_error'),
    )
    opened.push(() => engine.stop())
    const deps: Deps = {
      config,
      required: { ...required, partnerUrl: await database.resolveUrl(required.partnerUrl) },
      contract,
      pool: database.pool,
      db: database.db,
      exchange,
      looks: engine.looks,
      logger,
      now: cli.now,
    }
    return { deps, database, logger, close, engine }
  } catch (error) {
    // An embedded server that nobody releases would outlive this process.
    await close()
    throw error
  }
}
