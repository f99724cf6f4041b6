import { resolve } from 'node:path'
import type { Config } from '../config/schema.ts'
import { requireSchema } from '../db/schema-standing.ts'
import { patienceMs } from '../doctor/examine.ts'
import { NotMadeYet, openOwnDatabase, type Ward } from '../doctor/ward.ts'
import type { Cluster } from '../embedded/open-cluster.ts'
import { createExchangeClient, type ExchangeClient } from '../exchange/client.ts'
import { examinePartner, openPartnerSnapshot } from '../partner/partner-snapshot.ts'
import { checkWebhookSettings } from '../webhooks/check-webhook-settings.ts'
import type { Cli, CommonOptions } from './cli.ts'
import { connectionsNeeded } from './open-database.ts'
import { configFileOf, readConfig, readContract } from './read-config.ts'
import { tracing } from './telemetry.ts'

/** A person waits: what does not answer in this time is told as out of reach. Milliseconds. */
const connectTimeoutMs = 5_000
/** A little less than a check may take, so that it can still say what took so long. Milliseconds. */
const statementTimeoutMs = patienceMs - 2_000

/** What the doctor looks at, opened as it is asked for; nothing there is changed. */
export function openWard(cli: Cli, options: CommonOptions): Ward & AsyncDisposable {
  const made = new AsyncDisposableStack()
  const config = once(async () => readConfig(cli, options))
  const contract = once(async () => readContract(cli, await config()))
  const cluster = once(async () => await embeddedCluster(cli, await config(), made))
  const urlOf = async (setting: string) => {
    if (setting !== 'embedded' && !setting.startsWith('embedded:')) return setting
    const { database } = await config()
    return (await cluster()).url(setting === 'embedded' ? database.name : setting.slice('embedded:'.length))
  }
  const partnerOptions = async () => {
    const { url } = (await config()).partner
    if (url === null) throw new Error('partner.url is not set')
    return { url: await urlOf(url), statementTimeoutMs, connectTimeoutMs }
  }
  const own = once(async () => {
    const settings = await config()
    const { url, name } = settings.database
    const limits = { connectTimeoutMs, statementTimeoutMs }
    const opened = await openOwnDatabase(await urlOf(url), url === 'embedded' ? name : null, limits, made)
    return { ...opened, connectionsNeeded: connectionsNeeded(settings) }
  })
  return {
    now: cli.now,
    configFile: configFileOf(cli, options),
    environment: cli.environment,
    config,
    contract,
    serving: async () => await checkServing(await config(), await contract()),
    tracing: () => tracing(cli),
    service: once(async () => {
      const client = exchangeClient(await config(), await contract())
      made.defer(() => client.close())
      await client.getUnitTypes()
      return client
    }),
    own,
    ledger: once(async () => {
      const database = await own()
      await requireSchema(database.db)
      return database
    }),
    partner: once(async () => {
      const partner = await examinePartner(await partnerOptions())
      made.defer(() => partner.close())
      return partner
    }),
    partnerSnapshot: async () => {
      // A check that was given up goes on unheard: it must not keep the process up.
      if (made.disposed) throw new Error('the examination is over')
      const snapshot = await openPartnerSnapshot(await partnerOptions())
      if (made.disposed) await snapshot.close()
      else made.defer(() => snapshot.close())
      return snapshot
    },
    [Symbol.asyncDispose]: () => made.disposeAsync(),
  }
}

/** What not every examination needs, and takes a while to load. */
const loaders = {
  http: () => import('../http/start-http.ts'),
  data: () => import('../embedded/initialise-data.ts'),
  embedded: () => import('./open-embedded.ts'),
}

/** Loads what any examination may need, for a process that lives long: see `loadDialect`. */
export async function loadForWard(): Promise<void> {
  await Promise.all(Object.values(loaders).map((load) => load()))
}

/** What `serve` checks before it opens anything. The web server takes a while to load: only where it is wanted. */
async function checkServing(config: Config, contract: Awaited<ReturnType<Ward['contract']>>): Promise<void> {
  checkWebhookSettings(config.webhooks, contract)
  if (config.http.port !== null) (await loaders.http()).checkHttpSettings(config)
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make()
    return made
  }
}

/** The embedded server, joined or started, if there are data in its folder: none are made for a question. */
async function embeddedCluster(cli: Cli, config: Config, made: AsyncDisposableStack): Promise<Cluster> {
  const folder = resolve(cli.workingFolder, config.database.folder, 'postgres')
  const { wasMade } = await loaders.data()
  if (!wasMade(folder)) {
    throw new NotMadeYet(`There is no embedded server in ${folder} yet`)
  }
  const cluster = await (await loaders.embedded()).openEmbedded(cli, config)
  made.defer(() => cluster.release())
  return cluster
}

function exchangeClient(config: Config, contract: Awaited<ReturnType<Ward['contract']>>): ExchangeClient {
  const { baseUrl, apiKey, maxAnswerBytes, proxy } = config.exchange
  if (baseUrl === null || apiKey === null) throw new Error('exchange.baseUrl or exchange.apiKey is not set')
  return createExchangeClient({
    baseUrl,
    apiKey,
    contract,
    concurrency: 1,
    requestsPerSecond: config.exchange.requestsPerSecond,
    connectTimeoutMs,
    headersTimeoutMs: Math.min(config.exchange.headersTimeoutMs, connectTimeoutMs),
    bodyTimeoutMs: Math.min(config.exchange.bodyTimeoutMs, connectTimeoutMs),
    maxAnswerBytes,
    proxy,
    // One more, for a connection that breaks; a longer wait is for the person who asks.
    backOff: { attempts: 2, baseMs: 200, maxMs: 500, maxRetryAfterMs: 1_000 },
  })
}
