import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import pg from 'pg'
import { createChaos } from './chaos/chaos.ts'
import { createWarpedClock, type SandboxClock } from './clock.ts'
import { createWork } from './create-work.ts'
import { createFileAddresses } from './files/file-address.ts'
import { loadWorld } from './load-world.ts'
import { lockDatabase } from './lock-database.ts'
import { type SandboxLogger, silentLogger } from './logger.ts'
import { keepTime, readLatestTime, readWorld } from './read-world.ts'
import { RequestRefused } from './request-refused.ts'
import type { Sandbox } from './running-sandbox.ts'
import { createSchema } from './schema/create-schema.ts'
import { seedCalculators } from './seed-calculators.ts'
import { seedWorld } from './seed-world.ts'
import { buildFileServer } from './server/build-file-server.ts'
import { buildServer } from './server/build-server.ts'
import { madeUpWorld, worldOf } from './service-world.ts'
import type { SandboxOptions } from './start-options.ts'
import { createOutlet } from './webhooks/outlet.ts'

export type { SandboxOptions } from './start-options.ts'

export type RunningSandbox = {
  /** Where the API is reached. */
  url: string
  /** Where result files are. */
  filesUrl: string
  /** Aborts, with the error as its reason, when the sandbox had to close by itself. */
  lost: AbortSignal
  close(): Promise<void>
}

/** The API or the result files cannot be served where they were wanted. `code` is stable. */
class AddressUnusable extends Error {
  readonly code = 'sandbox_address_unusable'
}

const minuteMs = 60_000
const hourMs = 3_600_000

/**
 * Starts the Bulk Data Exchange Service, as its specification describes it, on an address of its own and its result
 * files on another. A database that an earlier start seeded keeps its state; tasks that were in process are taken up
 * again.
 * @throws {SandboxAlreadyRunning} when another sandbox serves from the database.
 * @throws {WorldMismatch} when the database holds another world.
 * @throws {AddressUnusable} when the API or the result files cannot be served where they were wanted.
 */
export async function startSandbox(options: SandboxOptions): Promise<RunningSandbox> {
  const { logger = silentLogger, workers = 4, host = '127.0.0.1' } = options
  await using opened = new AsyncDisposableStack()
  const lock = await lockDatabase(options.databaseUrl, logger)
  opened.defer(() => lock.release())
  const pool = openPool(options.databaseUrl, workers, logger)
  opened.defer(() => pool.end())

  const clock = await prepareWorld(pool, options)
  opened.defer(() => keepTime(pool, clock.now()).catch(() => undefined))
  const world = options.world ? worldOf(options.world.head) : madeUpWorld
  const stored = await readWorld(pool)
  const address = { api: '', files: '' }
  const files = createFileAddresses({
    secret: stored.fileSecret,
    baseUrl: () => address.files,
    lifetimeMs: options.fileUrlLifetimeMs ?? hourMs,
    now: () => clock.now(),
  })
  const sandbox: Sandbox = {
    pool,
    contract: options.contract,
    clock,
    logger,
    world,
    apiKeys: new Map([...world.apiKeys, ...(options.apiKeys ?? [])].map((apiKey) => [apiKey.key, apiKey])),
    seed: options.seed,
    chaos: createChaos(options.seed, options.chaos),
    webhooks: createOutlet({
      allowInsecure: options.allowInsecureWebhooks ?? false,
      ...(options.webhookLookup && { lookup: options.webhookLookup }),
    }),
    knownCompanies: stored.knownCompanies,
    pageSize: options.pageSize ?? 1000,
    apiUrl: () => address.api,
    fileUrl: (token) => files.sign(token),
    files,
  }
  const work = createWork(sandbox, {
    workers,
    durations: options.durations,
    retentionDays: options.retentionDays ?? 30,
    webhookDispatchMs: options.webhookDispatchMs ?? minuteMs,
  })
  opened.defer(() => work.pause())

  const servers = {
    files: buildFileServer(sandbox),
    api: buildServer(sandbox, { onQueued: () => work.wake(), host, publicUrl: options.publicUrl }),
  }
  for (const server of Object.values(servers)) {
    opened.defer(() => server.close())
    server.addHook('onRequest', async () => {
      if (!work.isRunning()) throw new RequestRefused(503, 'database_lost', 'The service has lost its database.')
    })
  }
  const places = {
    files: { what: 'Result files', option: '--files-port', port: options.filesPort ?? 0 },
    api: { what: 'The API', option: '--port', port: options.port },
  }
  address.files = await listen(servers.files, { ...places.files, host, publicUrl: options.publicFilesUrl })
  work.resume()
  address.api = await listen(servers.api, { ...places.api, host, publicUrl: options.publicUrl })
  logger.info({ url: address.api, files_url: address.files, seed: options.seed }, 'sandbox_started')

  const everything = opened.move()
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= everything.disposeAsync()
    return closing
  }
  const lost = new AbortController()
  lock.watch({
    lost: () => work.pause(),
    regained: () => work.resume(),
    gone: (reason) => {
      const tell = () => lost.abort(reason)
      close().then(tell, tell)
    },
  })
  return { url: address.api, filesUrl: address.files, lost: lost.signal, close }
}

function openPool(connectionString: string, workers: number, logger: SandboxLogger): pg.Pool {
  // Each worker holds two clients at most (a search reads one snapshot and writes files); the rest answer requests.
  const pool = new pg.Pool({ connectionString, max: 2 * workers + 6 })
  pool.on('error', (error) => logger.warn({ err: error }, 'sandbox_database_connection_lost'))
  // One that is in use has a statement that fails; between two of them its loss would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Makes and fills the tables where that has not been done, and gives the time that the world has reached. */
async function prepareWorld(pool: pg.Pool, options: SandboxOptions): Promise<SandboxClock> {
  const { seed, companies, timeWarp = 1 } = options
  await createSchema(pool)
  const clock = options.clock ?? createWarpedClock({ timeWarp, notBefore: await readLatestTime(pool) })
  if (options.world) {
    await loadWorld(pool, { seed, source: options.world })
    return clock
  }
  await seedWorld(pool, { seed, hotels: companies })
  if (options.calculators === true) {
    const { signal, onSeeding: onProgress } = options
    await seedCalculators(pool, { seed, at: clock.now() }, { signal, onProgress })
  }
  return clock
}

type Listening = { what: string; option: string; host: string; port: number; publicUrl: string | undefined }

/** Where this machine reaches a server that listens on every address. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** The address under which others reach the server. @throws {AddressUnusable} when it cannot listen there. */
async function listen(server: FastifyInstance, listening: Listening): Promise<string> {
  const { host, port, publicUrl } = listening
  try {
    await server.listen({ port, host })
  } catch (error) {
    throw unusable(listening, error as NodeJS.ErrnoException)
  }
  if (publicUrl !== undefined) return publicUrl.replace(/\/+$/, '')
  const reached = loopbackOf[host] ?? host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${(server.server.address() as AddressInfo).port}`
}

function unusable({ what, option, host, port }: Listening, cause: NodeJS.ErrnoException): AddressUnusable {
  const reason =
    cause.code === 'EADDRINUSE'
      ? `something else listens there. Stop it, or choose another port (${option})`
      : `${cause.message}. Choose another address (--host, ${option})`
  return new AddressUnusable(`${what} cannot be served at ${host}, port ${port}: ${reason}.`, { cause })
}
