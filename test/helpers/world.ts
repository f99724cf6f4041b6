import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { loadConfig } from '../../src/config/load-config.ts'
import type { Config } from '../../src/config/schema.ts'
import { createPool } from '../../src/db/database.ts'
import { schemaName } from '../../src/db/migrate-to-latest.ts'
import { createPartnerDatabase } from '../../src/demo/partner/create-partner-database.ts'
import { addedHotelNumber } from '../../src/demo/partner/second-night.ts'
import { loadContract } from '../../src/exchange/contract.ts'
import type { DurationSettings } from '../../src/sandbox/durations.ts'
import { type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { canaries, canaryKeys } from './canaries.ts'
import { inspectedLogger } from './leaks.ts'
import { testDatabase } from './postgres.ts'

export const demoConfig = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url))
export const packagedContract = fileURLToPath(new URL('../../config/contract.yaml', import.meta.url))

export type WorldOptions = {
  hotels: number
  seed?: number
  /** Companies on a page of a search. */
  pageSize?: number
  durations?: DurationSettings
  /** How else the service behaves: its clock, its webhooks, its trouble. */
  service?: Pick<SandboxOptions, 'allowInsecureWebhooks' | 'webhookDispatchMs' | 'timeWarp' | 'chaos'>
  /** Whether Nightferry's database has the newest schema from the start. */
  migrated?: boolean
  /** The wire names that the service uses; those that come with Nightferry unless another file is named. */
  contractFile?: string
}

export type OtherService = { url: string; pool: pg.Pool }

export type World = AsyncDisposable & {
  sandboxUrl: string
  partnerUrl: string
  databaseUrl: string
  /** The demo's configuration pointed at this world, with `path=value` settings on top. */
  config(overrides?: readonly string[]): Config
  /** Variables that point a process started with `--config config/demo.yaml` at this world. */
  environment(): Record<string, string>
  sandboxPool: pg.Pool
  /** Another service with the same companies that never heard of us, at an address of its own. */
  startOtherService(): Promise<OtherService>
  /** Ends the service and starts it again at another address: a host that was renamed. */
  moveService(): Promise<string>
  /** Copies a database as it is now, file by file, as a backup of the server would. @returns the name of the copy. */
  dump(which: 'service' | 'nightferry'): Promise<string>
  /** Puts a copy back in the place of the database. The service is down meanwhile, and comes back at its address. */
  restore(which: 'service' | 'nightferry', dump: string): Promise<void>
  partnerPool: pg.Pool
  /**
   * Nightferry's own database: unless `migrated`, empty until the program migrates it; its schema is found without a
   * prefix.
   */
  pool: pg.Pool
}

/** A service over HTTP, a hotel group's database and an empty one for Nightferry, on the cluster of the test run. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { hotels, seed = 7, pageSize, durations, migrated = false, contractFile = packagedContract } = options
  await using made = new AsyncDisposableStack()
  const open = async (searchPath: string) => {
    const template = migrated && searchPath === schemaName ? 'migrated' : 'empty'
    const database = made.use(await testDatabase({ template, partner: searchPath === 'public' }))
    const pool = createPool(database.url, {
      max: 3,
      applicationName: 'nightferry tests',
      searchPath,
      onIdleError: () => {},
    })
    made.defer(() => pool.end())
    return { url: database.url, pool }
  }
  const partner = await open('public')
  await createPartnerDatabase(partner.pool, { hotels, seed, asOf: new Date() })
  const own = await open(schemaName)
  const service = await open('sandbox')
  const behaviour = options.service ?? {}
  const serve = (databaseUrl: string, port = 0, filesPort = 0) =>
    startSandbox({
      databaseUrl,
      contract: loadContract(contractFile),
      port,
      filesPort,
      seed,
      apiKeys: canaryKeys,
      logger: inspectedLogger(),
      companies: addedHotelNumber(hotels),
      ...(pageSize !== undefined && { pageSize }),
      ...(durations !== undefined && { durations }),
      ...behaviour,
    })
  let sandbox = await serve(service.url)
  made.defer(() => sandbox.close())

  const environment = () => ({
    EXCHANGE_BASE_URL: sandbox.url,
    EXCHANGE_API_KEY: canaries.apiKey,
    DATABASE_URL: own.url,
    PARTNER_DATABASE_URL: partner.url,
    NIGHTFERRY_EXCHANGE_POLL_INTERVAL_MS: '100',
  })
  const withServiceDown = async <T>(which: 'service' | 'nightferry', work: () => Promise<T>): Promise<T> => {
    if (which === 'nightferry') return await work()
    const { port } = new URL(sandbox.url)
    await sandbox.close()
    try {
      return await work()
    } finally {
      sandbox = await serve(service.url, Number(port))
    }
  }
  const everything = made.move()
  return {
    get sandboxUrl() {
      return sandbox.url
    },
    startOtherService: async () => {
      const database = everything.use(await testDatabase({ template: 'empty' }))
      const other = await serve(database.url)
      everything.defer(() => other.close())
      const pool = createPool(database.url, {
        max: 3,
        applicationName: 'nightferry tests',
        searchPath: 'sandbox',
        onIdleError: () => {},
      })
      everything.defer(() => pool.end())
      return { url: other.url, pool }
    },
    dump: async (which) => {
      const database = which === 'service' ? service : own
      return await withServiceDown(which, () => copyDatabase(database.url, null))
    },
    restore: async (which, dump) => {
      const database = which === 'service' ? service : own
      await withServiceDown(which, () => copyDatabase(database.url, dump))
    },
    moveService: async () => {
      await sandbox.close()
      sandbox = await serve(service.url)
      return sandbox.url
    },
    partnerUrl: partner.url,
    databaseUrl: own.url,
    config: (overrides = []) => loadConfig({ file: demoConfig, environment: environment(), overrides }),
    environment,
    sandboxPool: service.pool,
    partnerPool: partner.pool,
    pool: own.pool,
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  }
}

let copies = 0

/**
 * Copies a database, or puts a copy back in its place: the files of it, page by page. Who is connected to it is cut
 * off, and connects again.
 */
async function copyDatabase(url: string, from: string | null): Promise<string> {
  const { pathname } = new URL(url)
  const name = decodeURIComponent(pathname.slice(1))
  const copy = from ?? `${name}_dump_${++copies}`
  const [target, template] = from === null ? [copy, name] : [name, copy]
  const admin = new pg.Client({ connectionString: url.replace(pathname, '/postgres') })
  await admin.connect()
  try {
    if (from !== null) await admin.query(`drop database ${pg.escapeIdentifier(target)} with (force)`)
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [template])
    await admin.query(
      `create database ${pg.escapeIdentifier(target)} template ${pg.escapeIdentifier(template)} strategy file_copy`,
    )
  } finally {
    await admin.end()
  }
  return copy
}
